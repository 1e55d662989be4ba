# SPDX-License-Identifier: BSD-3-Clause
# The Fortran binding: wrappers in C++, and the header mpif.h and the modules mpi and mpi_f08 with their
# extensions, generated from mpi.h and mpi-ext.h. The library itself does not need Fortran; without a compiler only the modules are missing.
include(CheckIncludeFileCXX)
set(fortran ${CMAKE_CURRENT_LIST_DIR})
set(fortran_made ${CMAKE_CURRENT_BINARY_DIR}/fortran)
file(MAKE_DIRECTORY ${fortran_made} ${mpi_include})
add_executable(torusmp_make_fortran
  ${fortran}/generate.cpp ${fortran}/generate_f08.cpp ${fortran}/generate_header.cpp)
target_link_libraries(torusmp_make_fortran PRIVATE torusmp_build_options)
set(fortran_texts mpif.h mpi_f08_types.f90 mpi.f90 mpi_f08.f90 fortran_routines.inc f08_routines.inc
  mpif-ext.h mpi_ext.f90 mpi_f08_ext.f90 fortran_extensions.inc)
list(TRANSFORM fortran_texts PREPEND ${fortran_made}/)
set(fortran_headers ${mpi_include}/mpif.h ${mpi_include}/mpif-ext.h)
add_custom_command(
  OUTPUT ${fortran_texts} ${fortran_headers}
  COMMAND torusmp_make_fortran ${CMAKE_CURRENT_SOURCE_DIR}/mpi.h ${CMAKE_CURRENT_SOURCE_DIR}/mpi-ext.h
          ${fortran_made}
  COMMAND ${CMAKE_COMMAND} -E copy ${fortran_made}/mpif.h ${fortran_made}/mpif-ext.h ${mpi_include}
  DEPENDS torusmp_make_fortran mpi.h mpi-ext.h
  COMMENT "Making the Fortran binding's texts from mpi.h and mpi-ext.h" VERBATIM)

target_sources(torusmp_mpi_setup PRIVATE
  ${fortran}/attributes.cpp
  ${fortran}/begin.cpp
  ${fortran}/callbacks.cpp
  ${fortran}/collectives.cpp
  ${fortran}/files.cpp
  ${fortran}/duplicate.cpp
  ${fortran}/exchange.cpp
  ${fortran}/f08/types.cpp
  ${fortran}/requests.cpp
  ${fortran}/routines.cpp
  ${fortran}/sessions.cpp
  ${fortran}/sizeof.cpp
  ${fortran}/spawn.cpp
  ${fortran}/strings.cpp
  ${fortran}/types.cpp
  ${fortran_made}/fortran_routines.inc
  ${fortran_made}/f08_routines.inc
  ${fortran_made}/fortran_extensions.inc
  ${fortran_headers})
target_include_directories(torusmp_mpi_setup PRIVATE ${fortran_made})
# Hundreds of wrappers each.
set_source_files_properties(${fortran}/routines.cpp ${fortran}/f08/routines.cpp PROPERTIES
  SKIP_UNITY_BUILD_INCLUSION ON)
install(FILES ${fortran_headers} DESTINATION ${TORUSMP_MPI_INCLUDEDIR})

if(TORUSMP_HAS_FORTRAN)
  # The descriptors of mpi_f08 are those of gfortran since version 12.
  set(modules mpi_f08_types mpi mpi_ext)
  set(TORUSMP_HAS_F08 OFF)
  check_include_file_cxx(ISO_Fortran_binding.h TORUSMP_HAS_FORTRAN_DESCRIPTORS)
  if(TORUSMP_HAS_FORTRAN_DESCRIPTORS AND CMAKE_Fortran_COMPILER_ID STREQUAL "GNU"
     AND CMAKE_Fortran_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
    list(APPEND modules mpi_f08 mpi_f08_ext)
    set(TORUSMP_HAS_F08 ON)
    target_sources(torusmp_mpi_setup PRIVATE
      ${fortran}/f08/by_hand.cpp ${fortran}/f08/descriptor.cpp ${fortran}/f08/routines.cpp
      ${fortran}/f08/sections.cpp)
  endif()
  set(TORUSMP_HAS_F08 ${TORUSMP_HAS_F08} PARENT_SCOPE)  # for the tests
  set(module_files "")
  foreach(module ${modules})
    add_custom_command(
      OUTPUT ${mpi_include}/${module}.mod
      # Kinds of LOGICAL that C does not have are as long as those of gfortran.
      COMMAND ${CMAKE_Fortran_COMPILER} -fsyntax-only -w -J ${mpi_include} -I ${mpi_include}
              ${fortran_made}/${module}.f90
      DEPENDS ${fortran_made}/${module}.f90 ${module_files}
      COMMENT "Making the Fortran module ${module}" VERBATIM)
    list(APPEND module_files ${mpi_include}/${module}.mod)
  endforeach()
  add_custom_target(torusmp_fortran_module ALL DEPENDS ${module_files})
  install(FILES ${module_files} DESTINATION ${TORUSMP_MPI_INCLUDEDIR})
endif()
