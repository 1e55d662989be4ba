# SPDX-License-Identifier: BSD-3-Clause
# coverage.md names each function once, and mpi.h declares all of them.
include(${CMAKE_CURRENT_LIST_DIR}/names.cmake)
file(READ ${COVERAGE} text)
string(REGEX MATCH "\n# Offered\n(.*)" matched "${text}")
string(REGEX MATCHALL "`MPI_[A-Za-z_0-9]+`" all "${CMAKE_MATCH_1}")
list(TRANSFORM all REPLACE "`" "")
compare("functions in coverage.md" declared all)
list(LENGTH all mentioned)
list(REMOVE_DUPLICATES all)
list(LENGTH all different)
if(NOT mentioned EQUAL different)
  message(FATAL_ERROR "${mentioned} names of which ${different} are different: a function is named twice")
endif()
# So many are in MPI 5.0 and in MPI-1 together.
if(different LESS 660)
  message(FATAL_ERROR "${COVERAGE} names ${different} functions, expected 660 and more")
endif()
