# SPDX-License-Identifier: BSD-3-Clause
# Shared by the test scripts. They are called as: script PROGRAM_DIR ... -- LAUNCHER...
# and run programs as LAUNCHER -np RANKS PROGRAM. Each has a temporary folder, which is removed at its end.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# run RANKS PROGRAM ARGS...: leaves $status, $work/out and $work/err. A hang ends as status 124.
run() {
    local ranks=$1
    shift
    timeout -k 5 120 "${launcher[@]}" -np "$ranks" "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}

show() {
    sed 's/^/    out: /' "$work/out"
    sed 's/^/    err: /' "$work/err"
}

# The value printed behind a label at the start of a line.
value() { sed -n "s/^$1  *\([^ ]*\).*/\1/p" "$work/out"; }

# close A B TOLERANCE: true if they are numbers whose relative difference is small.
close() {
    awk -v a="$1" -v b="$2" -v tolerance="$3" 'BEGIN {
        number = "^-?[0-9]+(\\.[0-9]+)?(e[-+][0-9]+)?$"
        if (a !~ number || b !~ number) exit 1
        d = a - b; if (d < 0) d = -d
        m = b < 0 ? -b : b
        exit !(d <= tolerance * m)
    }'
}

finish() {
    [ "$failures" -eq 0 ] || exit 1
    exit 0
}
