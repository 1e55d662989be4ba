# SPDX-License-Identifier: BSD-3-Clause
# TORUSMP_SANITIZE is empty, "address" (with undefined behaviour) or "thread".
set(TORUSMP_SANITIZE "" CACHE STRING "Sanitizer to build with: empty, address or thread")
if(TORUSMP_SANITIZE STREQUAL "address")
  # Undefined behaviour is an illegal instruction, for which the address sanitizer prints the stack
  # (ASAN_OPTIONS=handle_sigill=1): the texts for each place would have to be relocated by each process
  # that starts, and double the library. A null pointer ends a program anyway.
  add_compile_options(-fsanitize=address,undefined -fsanitize-undefined-trap-on-error
    -fno-sanitize=null,vptr -fno-omit-frame-pointer)
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
