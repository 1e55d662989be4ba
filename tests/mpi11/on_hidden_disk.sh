#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs one rank's program so that only rank 0 sees the contents of a folder. Every other rank sees an empty folder of
# its own and must leave it empty.
#   on_hidden_disk.sh FOLDER OPTIONS COMMAND...     OPTIONS: the options of rank 0's mount of a disk there; "-": no mount
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
