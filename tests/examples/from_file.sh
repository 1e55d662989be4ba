#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# from_file.sh WILSON MAKE_NERSC ARCHIVE -- LAUNCHER...
# A configuration that several ranks read equals the one from the same seed without a file. The archived one, written
# again in ILDG format, has the same plaquettes as in its own format.
. "$(dirname "$0")/common.sh"
wilson=$1 make_nersc=$2 archive=$3
shift 4
launcher=("$@")
common=(--seed 5 --kappa 0.12 --tolerance 1e-12)

run 1 "$wilson" --lattice 4x6x4x8 "${common[@]}"
[ "$status" -eq 0 ] || { fail "without a file: exit $status"; show; finish; }
plaquette=$(value plaquette) norm=$(value 'solution norm')

# format, rows, tolerance of the norm: single precision moves the links by 1e-7.
while read -r format rows tolerance ranks grid; do
    run 1 "$make_nersc" "$work/c.nersc" "$format" "$rows" 4 6 4 8 5
    [ "$status" -eq 0 ] || { fail "$format: make_nersc: exit $status"; show; continue; }
    run "$ranks" "$wilson" --config "$work/c.nersc" "${common[@]}" --grid "$grid"
    [ "$status" -eq 0 ] || { fail "$format, $rows rows: exit $status"; show; continue; }
    close "$(value plaquette)" "$plaquette" 1e-5 ||
        { fail "$format, $rows rows: plaquette $(value plaquette), expected $plaquette"; show; }
    close "$(value 'solution norm')" "$norm" "$tolerance" ||
        { fail "$format, $rows rows: norm $(value 'solution norm'), expected $norm"; show; }
done <<'TABLE'
IEEE64BIG 3 1e-11 8 2x1x2x2
IEEE64LITTLE 2 1e-11 4 1x1x1x4
IEEE32BIG 2 1e-6 6 1x3x2x1
IEEE32LITTLE 3 1e-6 2 2x1x1x1
ILDG64 3 1e-11 8 2x1x2x2
ILDG32 3 1e-6 6 1x3x2x1
TABLE

# A bit of a link that is wrong is found by the rank that has it, and said by all.
printf '\001' | dd of="$work/c.nersc" bs=1 seek=20000 conv=notrunc status=none
run 6 "$wilson" --config "$work/c.nersc" "${common[@]}" --grid 1x3x2x1
[ "$status" -eq 2 ] || { fail "a damaged ILDG file: exit $status, expected 2"; show; }
grep -q 'scidac-checksum is .* the file is damaged' "$work/err" || { fail "a damaged ILDG file"; show; }

if [ -r "$archive" ]; then
    run 4 "$wilson" --config "$archive" "${common[@]}"
    sed -n '/^plaquette\|^link trace/p' "$work/out" >"$work/expected"
    run 1 "$make_nersc" "$work/c.lime" ILDG64 "$archive"
    run 4 "$wilson" --config "$work/c.lime" "${common[@]}"
    sed -n '/^plaquette\|^link trace/p' "$work/out" >"$work/found"
    [ "$(wc -l <"$work/found")" -eq 2 ] && cmp -s "$work/expected" "$work/found" ||
        { fail "the archive in ILDG format: expected $(cat "$work/expected")"; show; }
else
    echo "skipped: $archive is absent"
fi
finish
