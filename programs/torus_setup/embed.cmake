# SPDX-License-Identifier: BSD-3-Clause
# Generates host_script.cpp: cmake -DSCRIPT=host_script.sh -DOUTPUT=host_script.cpp -P embed.cmake.
file(READ ${SCRIPT} text)
file(WRITE ${OUTPUT} "#include \"programs/torus_setup/hosts.h\"\n\nnamespace torusmp::torus_setup {\nconst std::string_view host_script = R\"script_(${text})script_\";\n}\n")
