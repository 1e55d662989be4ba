# kernel_routing.sh NODE DEVICE FAR-DEVICE FAR-ADDRESS: between node 0 and a node that shares no cable with it, packets of RoCE are
# forwarded by the kernels between. First perftest shows that the bed can do it, then our jobs.
. "${0%/*}/common.sh"
busybox ping -c 2 -W 5 -I "$2" "$4" >$said 2>&1 || fail "no echo from node-$1 at $4"
# A queue pair's timeout of 18 is a second: emulated nodes are slow.
rxe-exec "node-$1" ib_send_lat -d "rxe_$3" -x 1 -s 8 -n 100 -u 18 >/tmp/far.said 2>&1 &
sleep 2
timeout 30 ib_send_lat -d "rxe_$2" -x 1 -s 8 -n 100 -u 18 "node-$1" >$said 2>&1 || fail "ib_send_lat does not reach node-$1"
wait
awk '$1 == 8 { print "figure: ib_send_lat of 8 B to node-'"$1"': " $6 " us" }' $said
torus-run -np "$RXE_SIZE" --set routing.forward=kernel qmp_cases machine sizes sums \
    >$said 2>&1 || fail "the job failed"
