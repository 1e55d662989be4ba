# SPDX-License-Identifier: BSD-3-Clause
# Generates page.cpp: cmake -DFOLDER=page -DOUTPUT=page.cpp -P embed.cmake. The page includes the
# script and the style.
file(READ ${FOLDER}/index.html page)
foreach(part style.css model.js torus.js page.js)
  file(READ ${FOLDER}/${part} text)
  string(REPLACE "@${part}@" "${text}" page "${page}")
endforeach()
# Split into pieces, because compilers limit the length of a literal.
string(LENGTH "${page}" length)
set(literal "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${page}" ${at} 8000 piece)
  string(APPEND literal "R\"page_(${piece})page_\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE ${OUTPUT} "#include \"programs/torus_top/page.h\"\n\nnamespace torusmp::torus_top {\nconst std::string_view page_text(\n${literal});\n}\n")
