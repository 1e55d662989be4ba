#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command on the first of the processors that this shell may use: on_one_core.sh COMMAND...
allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
exec taskset -c "${allowed%%[-,]*}" "$@"
