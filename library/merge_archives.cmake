# SPDX-License-Identifier: BSD-3-Clause
# Puts the objects of several archives into one: cmake -DARCHIVE=... -DAR=... -DMEMBERS="a;b" -P ...
set(script "create ${ARCHIVE}.new\n")
foreach(member ${MEMBERS})
  string(APPEND script "addlib ${member}\n")
endforeach()
string(APPEND script "save\nend\n")
file(WRITE ${ARCHIVE}.mri "${script}")
execute_process(COMMAND ${AR} -M INPUT_FILE ${ARCHIVE}.mri RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${AR} cannot merge ${MEMBERS} into ${ARCHIVE}: ${failed}")
endif()
file(RENAME ${ARCHIVE}.new ${ARCHIVE})
file(REMOVE ${ARCHIVE}.mri)
