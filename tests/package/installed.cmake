# SPDX-License-Identifier: BSD-3-Clause
# Installs everything, stripped, searches for paths that would prevent a move, and uninstalls it. Needs
# BUILD (build tree), WORK (a folder that may be wiped), LIB (the libraries' folder in a prefix),
# READELF.
include(${CMAKE_CURRENT_LIST_DIR}/../commands.cmake)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/prefix)
file(WRITE "${WORK}/prefix/of another package" "")
set(prefix ${WORK}/prefix)
must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --strip)

foreach(library libtorusmp.so.0 libqmp.a libmpi.a)
  must(${READELF} --sections --wide ${prefix}/${LIB}/${library})
  if(output MATCHES "debug_info")
    message(FATAL_ERROR "${library} is installed with debug symbols")
  endif()
endforeach()
# They have to say where their programs are, by the prefix of the installation.
set(units)
foreach(pair "torus-check-watch;torus-check" "torus-forwarding;torus-info netplan"
        "torus-routes;torus-info netplan")
  list(GET pair 0 name)
  list(GET pair 1 program)
  set(unit ${prefix}/lib/systemd/system/${name}.service)
  file(STRINGS ${unit} starts REGEX "^ExecStart=${prefix}/bin/${program} ")
  if(NOT starts)
    message(FATAL_ERROR "${unit} does not start ${prefix}/bin/${program}")
  endif()
  list(APPEND units ${unit})
endforeach()
file(GLOB_RECURSE files LIST_DIRECTORIES FALSE ${prefix}/*)
list(REMOVE_ITEM files ${units})
foreach(file ${files})
  if(NOT IS_SYMLINK ${file})
    file(STRINGS ${file} paths REGEX "${prefix}|${BUILD}")
    if(paths)
      message(FATAL_ERROR "${file} names a folder from which it may be moved: ${paths}")
    endif()
  elseif(NOT EXISTS ${file})
    message(FATAL_ERROR "${file} leads nowhere")
  endif()
endforeach()
foreach(file bin/torus-run bin/mpirun bin/mpicc include/mpi.h include/qmp.h share/man/man1/torus-run.1
             share/man/man1/mpicc.1 share/man/man3/QMP_start.3 share/man/man5/torus.toml.5
             share/bash-completion/completions/torus-run share/doc/torusmp/settings.md
             share/doc/torusmp/licences.md share/torusmp/examples/halo_exchange/halo_exchange.c)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()

must(${CMAKE_COMMAND} --build ${BUILD} --target uninstall)
file(GLOB_RECURSE left LIST_DIRECTORIES TRUE RELATIVE ${prefix} ${prefix}/*)
if(NOT left STREQUAL "of another package")
  message(FATAL_ERROR "what is left: ${left}")
endif()
file(REMOVE_RECURSE ${WORK})
