# SPDX-License-Identifier: BSD-3-Clause
# memlock.sh: without CAP_IPC_LOCK. If the limit is below the memory of the slots, the job does not start, and limit and remedy are reported.
# If the slots fit, as in Debian's default limit, all messages arrive.
. "${0%/*}/common.sh"
without_lock() {
    setpriv --inh-caps=-ipc_lock --bounding-set=-ipc_lock timeout 200 torus-run -np "$RXE_SIZE" "$@" >$said 2>&1
}
ulimit -l 8192 || fail "the limit cannot be set"
without_lock --set transport.tokens=4 --set transport.relay_tokens=2 --set transport.eager_limit=4KiB \
    qmp_cases memory sizes start_order || fail "the job failed"
ulimit -l 16
! without_lock qmp_cases machine || fail "the job went well, expected a word on the limit"
grep -q "16 KiB in all (.ulimit -l.).*limits.conf" $said || fail "limit and remedy are missing"
