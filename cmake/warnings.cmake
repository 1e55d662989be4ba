# SPDX-License-Identifier: BSD-3-Clause
# The compiler options of all parts of the project, in one target.
add_library(torusmp_build_options INTERFACE)
target_include_directories(torusmp_build_options INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_compile_options(torusmp_build_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
  # Files that are compiled as one unit see each other's names, which they do not when compiled
  # alone.
  $<IF:$<BOOL:${CMAKE_UNITY_BUILD}>,-Wshadow=local,-Wshadow>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
