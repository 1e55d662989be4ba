#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bad_input.sh WILSON MAKE_NERSC -- LAUNCHER...
# Each mistake causes one message and exit code 2, and all ranks end.
. "$(dirname "$0")/common.sh"
wilson=$1 make_nersc=$2
shift 3
launcher=("$@")
ranks=4

# refused EXPECTED ARGS...: EXPECTED is an extended regular expression for the message.
refused() {
    local expected=$1
    shift
    run "$ranks" "$wilson" "$@"
    [ "$status" -eq 2 ] || { fail "$*: exit $status, expected 2"; show; }
    grep -qE "^torus-wilson: .*$expected" "$work/err" || { fail "$*: expected /$expected/"; show; }
    [ "$(grep -c '^torus-wilson: ' "$work/err")" -eq 1 ] || { fail "$*: expected one message"; show; }
}

refused "unrecognised option '--latice'" --latice 8x8x8x8
refused 'too many positional options' 8x8x8x8
refused "argument for option '--kappa' is missing" --kappa
refused "cannot be specified more than once" --seed 1 --seed 2
refused "--lattice: found '8x8x8', expected four" --lattice 8x8x8
refused "--lattice: found '8x8x8x8x8', expected four" --lattice 8x8x8x8x8
refused "--lattice: found '8x8x-8x8', expected four" --lattice 8x8x-8x8
refused "--lattice: found '99999999999x8x8x8', expected four" --lattice 99999999999x8x8x8
refused "extent in t is 7" --lattice 8x8x8x7
refused "more than .* sites a rank" --lattice 2048x2048x2048x2048
refused "8 sites in x .* by 3 ranks" --lattice 8x8x8x8 --grid 3x1x1x1
refused "is for 8 ranks, but 4 were started" --lattice 8x8x8x8 --grid 2x2x2x1
refused "--kappa: found 'nan', expected a number from -1 to 1" --kappa nan
refused "--tolerance: found '1e-8x'" --tolerance 1e-8x
refused "--iterations: found '0', expected a number from 1" --iterations 0
refused "--seed: found '-1', expected a number from 0" --seed=-1
refused "--start: found 'warm', expected hot or cold" --start warm

good=$work/good bad=$work/bad
run 1 "$make_nersc" "$good" IEEE32BIG 2 4 4 4 8 5
[ "$status" -eq 0 ] || { fail "make_nersc: exit $status"; show; finish; }
size=$(stat -c %s "$good")
# edit SED_SCRIPT: $bad is $good with its header changed.
edit() { LC_ALL=C sed "1,/^END_HEADER/{$1;}" "$good" >"$bad"; }

refused "$work/none: No such file" --config "$work/none"
refused "$work: expected a regular file" --config "$work"
refused "$good: .* 4x4x4x8, but --lattice says 8x8x8x8" --config "$good" --lattice 8x8x8x8
head -c $((size - 1)) "$good" >"$bad"
refused "$bad: truncated: the file has $((size - 1)) bytes, but $size were expected" --config "$bad"
head -c 100 "$good" >"$bad"
refused "$bad:[0-9]+: the header has no END_HEADER" --config "$bad"
: >"$bad"
refused "$bad:1: .*expected BEGIN_HEADER" --config "$bad"
head -c 100000 /dev/zero >"$bad"
refused "$bad:1: .*expected BEGIN_HEADER" --config "$bad"
cp "$good" "$bad"
printf '\125' | dd of="$bad" bs=1 seek=$((size - 1000)) conv=notrunc status=none
printf '\252' | dd of="$bad" bs=1 seek=$((size - 996)) conv=notrunc status=none
refused "$bad:12: CHECKSUM is .*, but the links add up to .*damaged" --config "$bad"
edit 's/IEEE32BIG/IEEE32LITTLE/'
refused "$bad:16: FLOATING_POINT says little-endian.* only as big-endian" --config "$bad"
edit 's/^PLAQUETTE = .*/PLAQUETTE = 0.5/'
refused "$bad:14: PLAQUETTE is 0.5000000000, but the links give" --config "$bad"
edit 's/^LINK_TRACE = .*/LINK_TRACE = 0.5/'
refused "$bad:13: LINK_TRACE is 0.5000000000, but the links give" --config "$bad"
edit 's/^DIMENSION_4 = 8/DIMENSION_4 = 16/'
refused "$bad: truncated" --config "$bad"
edit 's/^DIMENSION_3 = 4/DIMENSION_3 = four/'
refused "$bad:6: DIMENSION_3 is 'four'" --config "$bad"

# Not wrong input, but no solution either: exit 1.
run "$ranks" "$wilson" --lattice 4x4x4x4 --iterations 2
[ "$status" -eq 1 ] || { fail "too few iterations: exit $status, expected 1"; show; }
grep -q '^torus-wilson: not solved after 2 iterations' "$work/err" || { fail "too few iterations"; show; }

# The tolerance is of |b - M x| / |b|: what is printed as solved is at most that, whatever the recursion has reached.
for tolerance in 1e-6 3e-15 1e-15 2e-16 1e-17; do
    run "$ranks" "$wilson" --lattice 4x4x4x4 --kappa 0.15 --tolerance "$tolerance"
    awk -v r="$(value 'true residual')" -v t="$tolerance" -v s="$status" \
        'BEGIN { exit !(r > 0 && (s == 0 ? r <= t : s == 1 && r > t)) }' ||
        { fail "--tolerance $tolerance: exit $status"; show; }
done
grep -q 'double precision reaches no further' "$work/err" || { fail "--tolerance 1e-17"; show; }

run "$ranks" "$wilson" --help
[ "$status" -eq 0 ] || { fail "--help: exit $status"; show; }
[ "$(grep -c '^Examples:' "$work/out")" -eq 1 ] || { fail "--help: expected it once"; show; }
[ "$("$wilson" --version | cut -d' ' -f1,2)" = "torus-wilson (torusmp)" ] || fail "--version: $("$wilson" --version)"
finish
