# SPDX-License-Identifier: BSD-3-Clause
# Shared by scripts that act as a user: commands in the folder WORK, which end the test if they fail.

# must(COMMAND...): what it printed is in `output`.
function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output
                  WORKING_DIRECTORY ${WORK})
  if(NOT code STREQUAL "0")
    message(FATAL_ERROR "${ARGN}\nended with '${code}':\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# ask(RESULT COMMAND...): the words that it printed.
function(ask result)
  must(${ARGN})
  string(STRIP "${output}" output)
  separate_arguments(words UNIX_COMMAND "${output}")
  set(${result} ${words} PARENT_SCOPE)
endfunction()
