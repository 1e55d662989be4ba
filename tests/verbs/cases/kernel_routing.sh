# SPDX-License-Identifier: BSD-3-Clause
# kernel_routing.sh NODE DEVICE FAR-DEVICE FAR-ADDRESS: between node 0 and a node that shares no cable with it, packets of RoCE are
# forwarded by the kernels between. First perftest shows that the testbed can do it, then our jobs.
. "${0%/*}/common.sh"
busybox ping -c 2 -W 5 -I "$2" "$4" >$said 2>&1 || fail "no echo from node-$1 at $4"
timeout 60 rxe-perftest ib_send_lat "node-$1" "rxe_$2" "rxe_$3" 1 18600 -s 8 -n 100 >$said 2>&1 ||
    fail "ib_send_lat does not reach node-$1"
awk '$1 == 8 { print "figure: ib_send_lat of 8 B to node-'"$1"': " $6 " us" }' $said
torus-run -np "$RXE_SIZE" --set routing.forward=kernel qmp_cases machine sizes sums \
    >$said 2>&1 || fail "the job failed"
