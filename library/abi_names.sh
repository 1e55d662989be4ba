#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes the library that programs are linked with if they must run with any implementation of the
# standard's binary interface: the names of MPI's functions, without code, under the name
# libmpi_abi.so.1. At run time the loader takes the library of that name.
#   abi_names.sh NM COMPILER LIBRARY OUTPUT
set -eu
nm=$1 compiler=$2 library=$3 output=$4
"$nm" -D --defined-only "$library" |
  sed -nE 's/^[0-9a-f]+ [TW] (P?MPI_[A-Za-z0-9_]+)(@.*)?$/void \1(void) {}/p' >"$output.c"
grep -q MPI_Init "$output.c"
rm -f "$output"
"$compiler" -shared -fPIC -nostdlib -Wl,-soname,libmpi_abi.so.1 "$output.c" -o "$output"
rm "$output.c"
