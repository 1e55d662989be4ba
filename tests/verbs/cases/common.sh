# SPDX-License-Identifier: BSD-3-Clause
# Shared by the cases, which source it. The job under test is fault_rank, which uses all links and checks the received data.
work=$RXE_SHARED/job
said=/tmp/job.said

# fail WORDS: the case is lost, and why
fail() {
    echo "$*"
    [ ! -e $said ] || { echo "the job said:"; cat $said; }
    exit 1
}

# start_job OPTIONS: starts the job and waits until all ranks communicate
start_job() {
    rm -rf "$work"
    mkdir "$work"
    torus-run -np "$RXE_SIZE" "$@" fault_rank "$RXE_DIMS" "$work/ready" "$work/stop" >$said 2>&1 </dev/null &
    job=$!
    trap 'kill $job 2>/dev/null; wait $job' EXIT
    n=0
    until [ -e "$work/ready" ]; do
        kill -0 $job 2>/dev/null || fail "the job ended before any fault"
        n=$((n + 1))
        [ $n -lt 900 ] || fail "the job does not communicate after 90 s"
        sleep 0.1
    done
}

# end_job SECONDS: its exit code is in $code
end_job() {
    n=0
    while kill -0 $job 2>/dev/null; do
        n=$((n + 1))
        [ $n -lt $((10 * $1)) ] || fail "the job has not ended $1 s later"
        sleep 0.1
    done
    wait $job
    code=$?
    trap - EXIT
}

# expect_words PATTERN: that the job names the culprit
expect_words() {
    grep -Eq "$1" $said || fail "nothing names the culprit: expected '$1'"
    ! grep -q "wrong bytes" $said || fail "wrong bytes arrived"
}

no_rank_left() {
    for node in $(seq 0 $((RXE_SIZE - 1))); do
        [ "$node" != "${1:-}" ] || continue
        ! rxe-exec "node-$node" pidof fault_rank || fail "ranks are left on node-$node"
    done
}
