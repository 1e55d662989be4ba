# SPDX-License-Identifier: BSD-3-Clause
# TORUSMP_SANITIZE is empty, "address" (with undefined behaviour) or "thread".
set(TORUSMP_SANITIZE "" CACHE STRING "Sanitizer to build with: empty, address or thread")
if(TORUSMP_SANITIZE STREQUAL "address")
  # A null pointer ends the program anyway; without these two, the build takes a fifth less time.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,vptr -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  # gcc warns about code that its instrumentation adds.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=address,undefined)
elseif(TORUSMP_SANITIZE STREQUAL "thread")
  # gcc warns that this sanitizer does not support fences. Fences here order memory against other
  # processes, which the sanitizer does not observe.
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  add_link_options(-fsanitize=thread)
elseif(TORUSMP_SANITIZE)
  message(FATAL_ERROR "TORUSMP_SANITIZE is '${TORUSMP_SANITIZE}': expected address or thread")
endif()
