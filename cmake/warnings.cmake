# One target carries what every part of the project is compiled with.
add_library(torusmp_build_options INTERFACE)
target_include_directories(torusmp_build_options INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_compile_options(torusmp_build_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
  # Files that are joined see names of each other that they never meet alone.
  $<IF:$<BOOL:${CMAKE_UNITY_BUILD}>,-Wshadow=local,-Wshadow>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
