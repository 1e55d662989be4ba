# SPDX-License-Identifier: BSD-3-Clause
# TORUSMP_VERSION_TEXT is the text of --version: the version and, in a clone, the commit. A tarball
# has only the version, even inside another project's clone.
set(TORUSMP_VERSION_TEXT ${PROJECT_VERSION})
find_program(TORUSMP_GIT git)
mark_as_advanced(TORUSMP_GIT)
if(TORUSMP_GIT AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND ${TORUSMP_GIT} describe --always --exclude=* --abbrev=12
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    string(APPEND TORUSMP_VERSION_TEXT " (commit ${commit})")
    # Configures again after the next commit.
    execute_process(COMMAND ${TORUSMP_GIT} rev-parse --git-path logs/HEAD
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE log OUTPUT_STRIP_TRAILING_WHITESPACE)
    cmake_path(ABSOLUTE_PATH log BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    if(EXISTS ${log})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
    endif()
  endif()
endif()
