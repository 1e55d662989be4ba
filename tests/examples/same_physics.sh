#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# same_physics.sh WILSON RANKS GRID KIND ARG -- LAUNCHER...
# Runs the solver on RANKS ranks and on one, and compares. KIND is "archive" (ARG: the file with known plaquette), or
# "lattice" (ARG: the extent of a random one). Exits with 77, which ctest counts as skipped, if the archive is absent.
. "$(dirname "$0")/common.sh"
wilson=$1 ranks=$2 grid=$3 kind=$4 arg=$5
shift 6
launcher=("$@")

if [ "$kind" = archive ]; then
    if [ ! -r "$arg" ]; then
        echo "skipped: $arg is absent"
        exit 77
    fi
    problem=(--config "$arg")
else
    problem=(--lattice "$arg" --antiperiodic --seed 20)
fi
problem+=(--kappa 0.13 --tolerance 1e-12)

run 1 "$wilson" "${problem[@]}"
[ "$status" -eq 0 ] || { fail "one rank: exit $status"; show; finish; }
expected_plaquette=$(value plaquette)
expected_norm=$(value 'solution norm')

run "$ranks" "$wilson" "${problem[@]}" --grid "$grid"
show
[ "$status" -eq 0 ] || { fail "$ranks ranks: exit $status"; finish; }

if [ "$kind" = archive ]; then
    expected_plaquette=0.0382422893
    close "$(value 'link trace')" 0.4630322094 1e-7 || fail "link trace is $(value 'link trace')"
    grep -q '^links .* NERSC, checksum 717938df,' "$work/out" || fail "the checksum is not 717938df"
fi
[ "$(value plaquette)" = "$expected_plaquette" ] ||
    fail "plaquette is $(value plaquette), expected $expected_plaquette"
close "$(value 'solution norm')" "$expected_norm" 1e-11 ||
    fail "solution norm is $(value 'solution norm'), on one rank $expected_norm"
residual=$(value 'true residual')
awk -v r="$residual" 'BEGIN { exit !(r > 0 && r < 1e-11) }' || fail "true residual is $residual"
grep -q '^time .* us an iteration, .* % of it in communication$' "$work/out" || fail "no time"
finish
