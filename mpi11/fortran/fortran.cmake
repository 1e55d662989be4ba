# SPDX-License-Identifier: BSD-3-Clause
# The Fortran binding: wrappers in C++, and the header mpif.h and the module mpi, generated from
# mpi.h. The library itself does not need Fortran; without a compiler only the module is missing.
set(fortran ${CMAKE_CURRENT_LIST_DIR})
set(fortran_made ${CMAKE_CURRENT_BINARY_DIR}/fortran)
file(MAKE_DIRECTORY ${fortran_made} ${mpi_include})
add_executable(torusmp_make_fortran ${fortran}/generate.cpp)
target_link_libraries(torusmp_make_fortran PRIVATE torusmp_build_options)
add_custom_command(
  OUTPUT ${mpi_include}/mpif.h ${fortran_made}/mpi.f90 ${fortran_made}/fortran_routines.inc
  COMMAND torusmp_make_fortran ${CMAKE_CURRENT_SOURCE_DIR}/mpi.h ${mpi_include}/mpif.h
          ${fortran_made}/mpi.f90 ${fortran_made}/fortran_routines.inc
  DEPENDS torusmp_make_fortran mpi.h
  COMMENT "Making the Fortran binding's texts from mpi.h" VERBATIM)

target_sources(torusmp_mpi PRIVATE
  ${fortran}/attributes.cpp
  ${fortran}/begin.cpp
  ${fortran}/callbacks.cpp
  ${fortran}/collectives.cpp
  ${fortran}/files.cpp
  ${fortran}/duplicate.cpp
  ${fortran}/requests.cpp
  ${fortran}/routines.cpp
  ${fortran}/sessions.cpp
  ${fortran}/sizeof.cpp
  ${fortran}/strings.cpp
  ${fortran}/types.cpp
  ${fortran_made}/fortran_routines.inc
  ${mpi_include}/mpif.h)
target_include_directories(torusmp_mpi PRIVATE ${fortran_made})
install(FILES ${mpi_include}/mpif.h DESTINATION ${TORUSMP_MPI_INCLUDEDIR})

if(TORUSMP_HAS_FORTRAN)
  add_custom_command(
    OUTPUT ${mpi_include}/mpi.mod
    COMMAND ${CMAKE_Fortran_COMPILER} -fsyntax-only -J ${mpi_include} ${fortran_made}/mpi.f90
    DEPENDS ${fortran_made}/mpi.f90
    COMMENT "Making the Fortran module mpi" VERBATIM)
  add_custom_target(torusmp_fortran_module ALL DEPENDS ${mpi_include}/mpi.mod)
  install(FILES ${mpi_include}/mpi.mod DESTINATION ${TORUSMP_MPI_INCLUDEDIR})
endif()
