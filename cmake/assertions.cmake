# SPDX-License-Identifier: BSD-3-Clause
# TORUSMP_ASSERT (base/assert.h) is on in debug builds and under sanitizers, and in any build with
# -DTORUSMP_ASSERTIONS=ON, such as an optimised one for long runs.
set(TORUSMP_ASSERTIONS AUTO CACHE STRING "Run-time assertions: AUTO, ON or OFF")
set_property(CACHE TORUSMP_ASSERTIONS PROPERTY STRINGS AUTO ON OFF)
set(TORUSMP_HAS_ASSERTIONS ${TORUSMP_ASSERTIONS})
if(TORUSMP_ASSERTIONS STREQUAL "AUTO")
  set(TORUSMP_HAS_ASSERTIONS OFF)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug" OR TORUSMP_SANITIZE)
    set(TORUSMP_HAS_ASSERTIONS ON)
  endif()
endif()
if(TORUSMP_HAS_ASSERTIONS)
  add_compile_definitions(TORUSMP_ASSERTIONS)
endif()
