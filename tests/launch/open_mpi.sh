#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the rank program under Open MPI's mpirun, which uses PMIx, and under launchers with an
# unknown protocol.
#   open_mpi.sh RANK_PROGRAM
# Exit code 77: skipped, because the package is not installed.
set -uo pipefail
# For a build with the address sanitizer.
export LSAN_OPTIONS=print_suppressions=0:suppressions=$(dirname "$(readlink -f "$0")")/lsan.supp
rank_program=$1
mpirun=$(command -v mpirun.openmpi) || { echo "SKIPPED: no mpirun.openmpi (Debian: openmpi-bin)"; exit 77; }
output=$(mktemp)
trap 'rm -f "$output"' EXIT

failures=0
run() {
    timeout 60 "$@" >"$output" 2>&1
    code=$?
}
fail() {
    echo "FAILED: $1; exit code $code, output:"
    sed 's/^/    | /' "$output"
    failures=$((failures + 1))
}
launch=("$mpirun" --oversubscribe --allow-run-as-root -np 4)

run "${launch[@]}" "$rank_program" connect report exchange exchange-large barrier finalize
[ $code = 0 ] && [ "$(grep -c '^pmix rank [0-3] of 4, local 0 1 2 3$' "$output")" = 4 ] ||
    fail "four ranks meet over PMIx"

run "${launch[@]}" "$rank_program" connect barrier 2:abort=7,enough sleep
[ $code = 7 ] && grep -q 'rank 2 .*aborted with code 7: enough' "$output" ||
    fail "abort ends the job, gives its code and names the rank"

# mpirun may then report the failed barrier of another rank first. It must neither hang (124) nor
# crash (139).
run "${launch[@]}" "$rank_program" connect barrier 2:abort=7,enough barrier
[[ $code != 0 && $code -lt 124 ]] && grep -q 'rank 2 .*aborted with code 7: enough' "$output" ||
    fail "abort ends ranks that wait in a barrier"

# The child of a rank inherits PMIx's variables, but it is not the rank.
run "${launch[@]}" "$rank_program" connect "1:system=$rank_program connect report" barrier finalize
[ $code = 0 ] && [ "$(grep -c '^single rank 0 of 1' "$output")" = 1 ] ||
    fail "a child of a rank stands alone"

if mpich=$(command -v mpiexec.hydra); then
    # The launcher itself may die of a closed pipe (141) when ranks end at once, and then hands on
    # nothing of what they said.
    for _ in 1 2 3 4 5 6 7 8; do
        run "$mpich" -np 2 "$rank_program" connect print=silent-singleton
        [ $code = 141 ] || break
    done
    [ $code != 0 ] && grep -q 'PMI_RANK=' "$output" && ! grep -q silent-singleton "$output" ||
        fail "MPICH's launcher is refused"
else
    echo "no mpiexec.hydra (Debian: mpich): its case is left out"
fi

[ $failures = 0 ] && echo "all Open MPI cases passed"
exit $((failures > 0))
