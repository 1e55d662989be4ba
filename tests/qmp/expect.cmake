# SPDX-License-Identifier: BSD-3-Clause
# Runs a command that must fail: cmake -DCOMMAND="a;b" -DCODE=1 -DTEXT=regex [-DTEXT2=regex] -P ...
# CODE "any" stands for every code but 0. Checks that the whole took less than 20 s.
execute_process(COMMAND ${COMMAND} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output
                TIMEOUT 20)
if(CODE STREQUAL "any")
  if(code STREQUAL "0" OR NOT code MATCHES "^[0-9]+$")
    message(FATAL_ERROR "found exit code '${code}', expected a failure\n${output}")
  endif()
elseif(NOT code STREQUAL CODE)
  message(FATAL_ERROR "found exit code '${code}', expected ${CODE}\n${output}")
endif()
foreach(text "${TEXT}" "${TEXT2}")
  if(NOT output MATCHES "${text}")
    message(FATAL_ERROR "the output does not match '${text}':\n${output}")
  endif()
endforeach()
