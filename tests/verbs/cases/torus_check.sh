# SPDX-License-Identifier: BSD-3-Clause
# torus_check.sh NODE DEVICE OTHER: torus-check and torus-info on real devices: first a testbed without faults, then one whose NODE has
# no RDMA on DEVICE and a smaller MTU on OTHER. Afterwards the testbed is as before.
. "${0%/*}/common.sh"

expect() {
    grep -Eq "$1" $said || fail "expected '$1'; it said: $(cat $said)"
}

torus-check --probes 20 >$said 2>&1 || fail "something is wrong with a good testbed: $(cat $said)"
! grep -q note: $said || fail "notes on a good testbed: $(cat $said)"
torus-info --set transport.use=auto >$said || fail "torus-info failed"
expect "^ +0\+ .* verbs +rxe_.*, if .* has RDMA too"
torus-info --set verbs.gid_index=77 >$said || fail "torus-info failed"
expect "nothing .*verbs.gid_index: found 77, but the RDMA device rxe_.* has the RoCE v2 GIDs 0 \(fe80::"

mtu=$(rxe-exec "node-$1" cat "/sys/class/net/$3/mtu")
heal() {
    rxe-exec "node-$1" ip link set "$3" mtu "$mtu"
    rxe-exec "node-$1" rdma link add "rxe_$2" type rxe netdev "$2"
}
trap 'heal "$@"' EXIT
rxe-exec "node-$1" rdma link del "rxe_$2" || fail "the RDMA device cannot be taken away"
rxe-exec "node-$1" ip link set "$3" mtu 1000 || fail "the MTU cannot be set"
torus-check --probes 20 --set transport.use=auto >$said 2>&1 && fail "nothing is wrong with MTUs that differ"
expect "note: link .* uses (TCP|Ethernet frames) instead of RDMA: $2 of node-$1 has no RDMA device: .*rdma link add rxe_$2 "
expect "note: link .* the RDMA MTU of .*both use 512"
rxe-exec "node-$1" torus-info >$said 2>&1 || fail "torus-info failed on node-$1"
expect "$2 .* nothing .*transport.use is verbs \(.*\), but $2 of node-$1 has no RDMA device: .*rdma link add rxe_$2 "
