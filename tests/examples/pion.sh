#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# pion.sh WILSON RANKS GRID -- LAUNCHER...
# The printed correlator is positive, the same forward and backward in time, and decays to the middle.
. "$(dirname "$0")/common.sh"
wilson=$1 ranks=$2 grid=$3
shift 4
launcher=("$@")

run "$ranks" "$wilson" --lattice 4x4x4x8 --start cold --kappa 0.11 --antiperiodic --pion --grid "$grid"
[ "$status" -eq 0 ] || fail "exit $status"
sed -n 's/^pion t=\([0-9]*\) *\(.*\)/\1 \2/p' "$work/out" | awk '
    { c[$1] = $2 }
    END {
        if (NR != 8) exit 1
        for (t = 1; t < 8; t++) { d = c[t] / c[8 - t] - 1; if (d > 1e-6 || d < -1e-6) exit 1 }
        for (t = 0; t < 4; t++) if (!(c[t] > c[t + 1] && c[t + 1] > 0)) exit 1
    }' || fail "the correlator"
for label in precision halo 'true residual'; do
    [ -n "$(value "$label")" ] || fail "no line '$label'"
done
# Half spinors of 96 B: 64 sites a face of 4x4x4x8 on 2x1x2x2, both ways, for S and its adjoint.
if [ "$ranks" -eq 8 ]; then
    expected=$((96 * 2 * 2 * (4 * 2 * 4 + 2 * 4 * 4 + 2 * 4 * 2)))
    [ "$(value halo)" -eq "$expected" ] || fail "halo $(value halo), expected $expected bytes"
fi
[ "$failures" -eq 0 ] || show
finish
