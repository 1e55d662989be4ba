#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# halo_exchange.sh HALO_EXCHANGE RANKS -- LAUNCHER...
. "$(dirname "$0")/common.sh"
program=$1 ranks=$2
shift 3
launcher=("$@")

# Faces around the sizes at which libraries change their protocol, and one number.
for length in 1 2047 2049 65536; do
    run "$ranks" "$program" "$length"
    [ "$status" -eq 0 ] || { fail "$length numbers: exit $status"; show; }
    grep -q "^$ranks ranks on a torus .* of $((8 * length)) bytes a rank, 0 wrong numbers" "$work/out" ||
        { fail "$length numbers: the report is missing"; show; }
    [ "$(wc -l <"$work/out")" -eq 1 ] || { fail "$length numbers: more than rank 0 prints"; show; }
done

if [ "$ranks" -eq 8 ]; then
    run 8 "$program"
    grep -q '^8 ranks on a torus of 2x2x2: ' "$work/out" || { fail "default torus"; show; }
    run 8 "$program" 16 -qmp-geom 4 2
    grep -q '^8 ranks on a torus of 4x2: ' "$work/out" || { fail "-qmp-geom 4 2"; show; }
fi
# The torus of the job is the machine; a part of it is not.
if [ "$ranks" -eq 4 ] && [ "$(basename "${launcher[0]}")" = torus-run ]; then
    launcher+=(--torus 4)
    run 4 "$program"
    grep -q '^4 ranks on a torus of 4: ' "$work/out" || { fail "--torus 4"; show; }
    run 4 "$program" 16 -qmp-job 2
    grep -q '^2 ranks on a torus of 2x1x1: ' "$work/out" || { fail "--torus 4, two jobs"; show; }
fi
[ "$("$program" --version)" = "torus-halo-exchange (torusmp) $(sed -n 's/.*VERSION \([0-9.]*\) .*/\1/p' \
    "$(dirname "$0")/../../CMakeLists.txt" | head -1)" ] || fail "--version: $("$program" --version)"

for bad in 0 -1 12x '' 99999999999 '1 2'; do
    run "$ranks" "$program" "$bad"
    [ "$status" -eq 2 ] || { fail "argument '$bad': exit $status, expected 2"; show; }
    [ "$(grep -c '^torus-halo-exchange: found' "$work/err")" -eq 1 ] ||
        { fail "argument '$bad': expected one message"; show; }
done
finish
