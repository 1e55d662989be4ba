# SPDX-License-Identifier: BSD-3-Clause
# Installs as the README says, runs its examples from there, and builds two, one for QMP and one for
# MPI, from the sources that were installed with it. Needs BUILD (build tree), WORK (a folder that may
# be wiped), BIN, DATA (folders in a prefix), CC.
include(${CMAKE_CURRENT_LIST_DIR}/../commands.cmake)

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(prefix ${WORK}/prefix)
foreach(part programs/torus_run library qmp/package mpi11 mpi11/package examples)
  must(${CMAKE_COMMAND} -DCMAKE_INSTALL_PREFIX=${prefix} -P ${BUILD}/${part}/cmake_install.cmake)
endforeach()
set(ENV{PATH} ${prefix}/${BIN}:$ENV{PATH})
set(ENV{LD_LIBRARY_PATH} "")
must(torus-run -np 8 --torus 2x2x2 torus-halo-exchange)
must(torus-halo-exchange)
must(torus-run -np 2 torus-wilson --help)

set(source ${prefix}/${DATA}/torusmp/examples/halo_exchange/halo_exchange.c)
ask(words qmp-config --cflags --ldflags --libs)
must(${CC} ${source} ${words} -o halo_exchange)
must(torus-run -np 4 ./halo_exchange)
must(mpicc ${prefix}/${DATA}/torusmp/examples/diskless/diskless_heat.c -o diskless_heat -lm)
must(torus-run -np 2 --keep-going ./diskless_heat 8 8 10 5)
# Every example of the sources is there, with all its files.
get_filename_component(sources ${CMAKE_CURRENT_LIST_DIR}/../../examples ABSOLUTE)
file(GLOB_RECURSE files RELATIVE ${sources} ${sources}/*)
foreach(file ${files})
  if(NOT file MATCHES "CMakeLists.txt$" AND NOT EXISTS ${prefix}/${DATA}/torusmp/examples/${file})
    message(FATAL_ERROR "examples/${file} is not installed")
  endif()
endforeach()
file(REMOVE_RECURSE ${WORK})
