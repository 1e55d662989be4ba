#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command on a disk of 4 MiB that only it sees: empty ("full" fills it) or read-only. The
# folder is its last argument.
#   on_little_disk.sh full|read_only COMMAND...
# Exit code 77: skipped, since only root may mount.
kind=$1
shift
[ "$(id -u)" = 0 ] || { echo "SKIPPED: needs root"; exit 77; }
options=size=4m
[ "$kind" = read_only ] && options=$options,ro
exec unshare -m --propagation private bash -c '
    mount -t tmpfs -o '"$options"' torusmp_test /mnt || exit 77
    exec "$@" /mnt' "$0" "$@"
