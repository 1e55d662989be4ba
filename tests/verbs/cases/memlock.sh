# memlock.sh KIB: without CAP_IPC_LOCK and with little memory that may be locked. All arrives all the same, and the limit is told.
. "${0%/*}/common.sh"
ulimit -l "$1" || fail "the limit cannot be set"
setpriv --inh-caps=-ipc_lock --bounding-set=-ipc_lock \
    torus-run -np "$RXE_SIZE" qmp_cases sizes memory multiples start_order >$said 2>&1 || fail "the job failed"
grep -q "ulimit -l" $said || fail "nobody says that 'ulimit -l' is too low, nor how to raise it"
