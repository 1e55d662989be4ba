# SPDX-License-Identifier: BSD-3-Clause
# guest_killed.sh NODE: a node dies in the middle of a job, during a remote write. Its cables keep their carriers, so
# only its silence shows the death. Must be the last case.
. "${0%/*}/common.sh"
start_job --set transport.timeout=15s
rxe-kill "node-$1" || exit 1
end_job 90
[ $code != 0 ] || fail "the job ended with 0, expected an error"
expect_words "node $1, rank $1\) is lost|link [^ ]* to rank $1\b.* is closed|link between rank .*\b$1\b"
grep -E "torus-run: |node-$1" $said | head -n 3 | sed 's/^/figure: /'
no_rank_left "$1"
