#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gauge_file.sh GAUGE_FILE WILSON MAKE_NERSC ARCHIVE -- LAUNCHER...
# A field that ranks write together gives the same bytes on every grid of ranks, the links of the
# writer in one process, and valid checksums. Ranks that read together get the written field.
. "$(dirname "$0")/common.sh"
gauge_file=$1 wilson=$2 make_nersc=$3 archive=$4
shift 5
launcher=("$@")
extent=4x6x4x8

# The first difference is left in $work/difference.
same() { cmp "$1" "$2" >"$work/difference" 2>&1; }

# format, rows, bytes of links a site.
while read -r format rows bytes; do
    rm -f "$work/first"
    while read -r ranks grid; do
        # The existing file is longer, which reveals a writer that does not truncate it.
        head -c 3000000 /dev/zero >"$work/field"
        run "$ranks" "$gauge_file" --lattice $extent --seed 5 --to "$work/field" \
            --format "$format" --rows "$rows" --grid "$grid"
        [ "$status" -eq 0 ] || { fail "$format on grid $grid: exit $status"; show; continue; }
        [ -e "$work/first" ] || cp "$work/field" "$work/first"
        same "$work/first" "$work/field" ||
            { fail "$format on grid $grid: other bytes than on grid 1x1x1x1: $(cat "$work/difference")"; }
        # And back: read on this grid, written in the same format.
        run "$ranks" "$gauge_file" --from "$work/field" --to "$work/again" \
            --format "$format" --rows "$rows" --grid "$grid"
        [ "$status" -eq 0 ] || { fail "$format read on grid $grid: exit $status"; show; continue; }
        [ "$rows" -eq 2 ] || same "$work/first" "$work/again" ||
            fail "$format read on grid $grid: other bytes: $(cat "$work/difference")"
    done <<'GRIDS'
1 1x1x1x1
2 2x1x1x1
2 1x1x1x2
4 1x2x1x2
4 1x1x1x4
6 1x3x2x1
8 2x1x2x2
8 1x2x2x2
GRIDS
    # The links alone, as one process without MPI-IO writes them.
    run 1 "$make_nersc" "$work/alone" "$format" "$rows" 4 6 4 8 5
    [ "$status" -eq 0 ] || { fail "$format: make_nersc: exit $status"; show; continue; }
    links=$((bytes * 4 * 6 * 4 * 8))
    case $format in
        ILDG*) marker=ildg-binary-data skip=128 ;;
        *) marker=END_HEADER skip=11 ;;
    esac
    for name in first alone; do
        at=$(LC_ALL=C grep -a -b -o -m1 $marker "$work/$name" | sed -n '1s/:.*//p')
        tail -c +$((at + skip + 1)) "$work/$name" | head -c $links >"$work/$name.links"
    done
    [ "$(wc -c <"$work/first.links")" -eq $links ] || fail "$format: fewer than $links bytes of links"
    same "$work/first.links" "$work/alone.links" ||
        fail "$format: other links than the writer in one process has: $(cat "$work/difference")"
    # wilson reads it by rank 0 alone, and verifies the checksum and the header's means.
    run 4 "$wilson" --config "$work/first" --kappa 0.12 --tolerance 0 --iterations 1
    [ "$status" -eq 0 ] || { fail "$format: wilson: exit $status"; show; }
    # A wrong bit is found by the ranks that read together, too.
    printf '\001' | dd of="$work/first" bs=1 seek=20000 conv=notrunc status=none
    run 4 "$gauge_file" --from "$work/first" --to "$work/again" --format "$format"
    [ "$status" -eq 2 ] || { fail "$format, damaged: exit $status, expected 2"; show; }
    grep -q 'the file is damaged' "$work/err" || { fail "$format, damaged"; show; }
done <<'TABLE'
IEEE64BIG 3 576
IEEE32LITTLE 2 192
ILDG64 3 576
ILDG32 3 288
TABLE

run 4 "$gauge_file" --lattice $extent --to "$work/absent/field"
[ "$status" -eq 2 ] || { fail "a folder that is absent: exit $status, expected 2"; show; }
[ "$(grep -c 'No such file or directory' "$work/err")" -eq 1 ] ||
    { fail "a folder that is absent: expected one message"; show; }

if [ -r "$archive" ]; then
    run 4 "$gauge_file" --from "$archive" --to "$work/archive.lime"
    [ "$status" -eq 0 ] || { fail "the archive: exit $status"; show; }
    run 1 "$wilson" --config "$archive" --kappa 0.12
    sed -n '/^plaquette\|^link trace/p' "$work/out" >"$work/expected"
    run 2 "$wilson" --config "$work/archive.lime" --kappa 0.12
    sed -n '/^plaquette\|^link trace/p' "$work/out" >"$work/found"
    [ "$(wc -l <"$work/found")" -eq 2 ] && cmp -s "$work/expected" "$work/found" ||
        { fail "the archive in ILDG format: expected $(cat "$work/expected")"; show; }
else
    echo "skipped: $archive is absent"
fi
finish
