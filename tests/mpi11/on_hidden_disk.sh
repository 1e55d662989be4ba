#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs one rank's program where only rank 0 has what is in a folder: all others see an empty one of their own, and
# leave it empty, or the test fails.
#   on_hidden_disk.sh FOLDER OPTIONS COMMAND...     OPTIONS: how rank 0 mounts a disk of its own there; "-": it does not
folder=$1
options=$2
shift 2
export folder options
exec unshare -m --propagation private sh -c '
    if [ "$TORUSMP_RANK" = 0 ]; then
        [ "$options" = - ] || mount -t tmpfs -o "$options" torusmp_disk "$folder" || exit 99
        exec "$@"
    fi
    mount -t tmpfs torusmp_other "$folder" || exit 99
    "$@"
    code=$?
    [ -z "$(ls -A "$folder")" ] || { echo "something was made on another host: $(ls -A "$folder")" >&2; exit 98; }
    exit $code' sh "$@"
