# SPDX-License-Identifier: BSD-3-Clause
# Optional parts of a build. TORUSMP_<PART> is AUTO (built if its dependencies are found), ON (an
# error if they are not) or OFF. The configure step prints one line for each, and sets
# TORUSMP_HAS_<PART> for the rest of the build.
find_package(PkgConfig REQUIRED)

# torusmp_optional(PART "description" "dependencies" "packages of Debian" FOUND variable ...): the
# variables hold what was found.
function(torusmp_optional part what needs packages)
  cmake_parse_arguments(PARSE_ARGV 4 given "" "" FOUND)
  set(has TRUE)
  foreach(variable ${given_FOUND})
    if(NOT ${variable})
      set(has FALSE)
    endif()
  endforeach()
  if(has AND TORUSMP_${part})
    message(STATUS "${what}: built")
  elseif(NOT TORUSMP_${part})
    set(has FALSE)
    message(STATUS "${what}: left out (TORUSMP_${part}=${TORUSMP_${part}})")
  elseif(TORUSMP_${part} STREQUAL AUTO)
    message(STATUS "${what}: left out, ${needs} was not found (Debian: ${packages})")
  else()
    message(FATAL_ERROR "TORUSMP_${part} is ${TORUSMP_${part}}, but ${needs} was not found (Debian: ${packages}): "
                        "expected it installed, or TORUSMP_${part}=AUTO or OFF")
  endif()
  set(TORUSMP_HAS_${part} ${has} PARENT_SCOPE)
endfunction()

foreach(part VERBS PMIX ISAL URING FORTRAN MANUAL SCREEN SERVER)
  set(TORUSMP_${part} AUTO CACHE STRING "AUTO, ON or OFF")
  set_property(CACHE TORUSMP_${part} PROPERTY STRINGS AUTO ON OFF)
endforeach()

if(TORUSMP_VERBS)
  pkg_check_modules(ibverbs QUIET IMPORTED_TARGET libibverbs)
  # UCX's memory hooks are loaded at run time: only their header is needed here.
  find_path(TORUSMP_UCM_INCLUDE ucm/api/ucm.h)
endif()
torusmp_optional(VERBS "Transport verbs (RDMA)" "libibverbs or UCX's ucm/api/ucm.h" "libibverbs-dev libucx-dev"
  FOUND ibverbs_FOUND TORUSMP_UCM_INCLUDE)

if(TORUSMP_PMIX)
  find_path(PMIX_INCLUDE_DIR pmix.h
    PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib
    PATH_SUFFIXES pmix2/include pmix/include)
endif()
torusmp_optional(PMIX "Start through PMIx (Slurm, PRRTE)" "pmix.h" "libpmix-dev" FOUND PMIX_INCLUDE_DIR)

if(TORUSMP_ISAL)
  pkg_check_modules(isal QUIET IMPORTED_TARGET libisal)
endif()
torusmp_optional(ISAL "Checksums by ISA-L (else by code of its own)" "libisal" "libisal-dev" FOUND isal_FOUND)

if(TORUSMP_URING)
  pkg_check_modules(uring QUIET IMPORTED_TARGET liburing)
endif()
torusmp_optional(URING "Files by io_uring (else by pread and pwrite)" "liburing" "liburing-dev" FOUND uring_FOUND)

if(TORUSMP_SCREEN)
  pkg_check_modules(ncurses QUIET IMPORTED_TARGET ncursesw)
endif()
torusmp_optional(SCREEN "Screen of torus-top" "ncurses" "libncurses-dev" FOUND ncurses_FOUND)

if(TORUSMP_SERVER)
  pkg_check_modules(httplib QUIET IMPORTED_TARGET cpp-httplib)
  # Debian 13's header calls it.
  pkg_check_modules(crypto QUIET IMPORTED_TARGET libcrypto)
endif()
torusmp_optional(SERVER "Page of torus-top for browsers" "cpp-httplib" "libcpp-httplib-dev" FOUND httplib_FOUND)

if(TORUSMP_MANUAL)
  find_package(Python3 QUIET COMPONENTS Interpreter)
endif()
torusmp_optional(MANUAL "Man pages and completions" "Python 3" "python3" FOUND Python3_Interpreter_FOUND)

# The libraries do not need Fortran; the module for MPI programs does.
if(TORUSMP_FORTRAN)
  include(CheckLanguage)
  check_language(Fortran)
endif()
torusmp_optional(FORTRAN "Module of Fortran's 'use mpi' (mpif.h needs none)" "a Fortran compiler" "gfortran"
  FOUND CMAKE_Fortran_COMPILER)
if(TORUSMP_HAS_FORTRAN)
  enable_language(Fortran)
endif()
