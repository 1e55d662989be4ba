# SPDX-License-Identifier: BSD-3-Clause
# Defines the installation paths, and the four components. A rule belongs to the component of its
# folder, set by CMAKE_INSTALL_DEFAULT_COMPONENT_NAME, unless it names another one.
#
#   library       libraries that programs need at run time
#   development   headers and files to build programs
#   programs      torus-run and the other programs, their man pages and completions, the examples
#   documents     the documentation pages, and the reference of the interfaces
#
# "cmake --install BUILD --component PART" installs one of them; the packages are made from these.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)

# Other MPIs install files with the same names. In a shared prefix, these files go into a separate
# folder, with bin, lib and include, and its programs are also linked into bin with names that end
# in .torusmp. Debian's package uses lib/<architecture>/torusmp.
set(TORUSMP_MPI_FOLDER "" CACHE STRING "Folder in the prefix for what other MPIs call by the same name; empty: none of its own")
if(TORUSMP_MPI_FOLDER)
  set(TORUSMP_MPI_BINDIR ${TORUSMP_MPI_FOLDER}/bin)
  set(TORUSMP_MPI_LIBDIR ${TORUSMP_MPI_FOLDER}/lib)
  set(TORUSMP_MPI_INCLUDEDIR ${TORUSMP_MPI_FOLDER}/include)
  set(TORUSMP_MPI_SUFFIX .torusmp)
else()
  set(TORUSMP_MPI_BINDIR ${CMAKE_INSTALL_BINDIR})
  set(TORUSMP_MPI_LIBDIR ${CMAKE_INSTALL_LIBDIR})
  set(TORUSMP_MPI_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
  set(TORUSMP_MPI_SUFFIX "")
endif()

# torusmp_install_link(FOLDER NAME TARGET): a symbolic link FOLDER/NAME to the file TARGET, both
# below the prefix.
function(torusmp_install_link folder name target)
  file(RELATIVE_PATH target /${folder} /${target})
  set(link ${PROJECT_BINARY_DIR}/links/${folder}/${name})
  cmake_path(GET link PARENT_PATH parent)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${target} ${link} SYMBOLIC)
  install(FILES ${link} DESTINATION ${folder} ${ARGN})
endfunction()

# torusmp_install_mpi_name(NAME): a link in bin to the program NAME in MPI's folder.
function(torusmp_install_mpi_name name)
  if(TORUSMP_MPI_FOLDER)
    torusmp_install_link(${CMAKE_INSTALL_BINDIR} ${name}${TORUSMP_MPI_SUFFIX} ${TORUSMP_MPI_BINDIR}/${name})
  endif()
endfunction()

add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -P ${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake
  COMMENT "Removing what was installed from this build" VERBATIM)
