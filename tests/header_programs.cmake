# SPDX-License-Identifier: BSD-3-Clause
# header_programs(PREFIX LIBRARY): PREFIX_header_STANDARD for C and C++ of all ages, each a program of
# header.c in this folder, as strict as the compilers are.
function(header_programs prefix library)
  foreach(standard c99 c11 c++98 c++11 c++20)
    string(REPLACE "+" "x" name ${standard})
    set(source header.c)
    if(standard MATCHES "\\+")
      set(source ${CMAKE_CURRENT_BINARY_DIR}/header_${name}.cpp)
      configure_file(header.c ${source} COPYONLY)
    endif()
    add_executable(${prefix}_header_${name} ${source})
    target_compile_options(${prefix}_header_${name} PRIVATE
      -std=${standard} -pedantic-errors -Wall -Wextra -Werror)
    target_link_libraries(${prefix}_header_${name} PRIVATE ${library})
  endforeach()
endfunction()
