#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# same_result.sh COMMAND ARGUMENTS: runs COMMAND without and with ARGUMENTS, which let five of its
# processes die. Both must end well and print the same line.
set -u
expected=$($1) || exit 1
found=$($1 $2 2>errors.$$)
code=$?
errors=$(cat errors.$$)
rm -f errors.$$
deaths=$(echo "$errors" | grep -c "was killed by SIGKILL")
[ $code = 0 ] && [ "$found" = "$expected" ] && [ "$deaths" = 5 ] && exit 0
echo "$1 $2: exit code $code, $deaths deaths of 5; found '$found', expected '$expected'; errors: $errors"
exit 1
