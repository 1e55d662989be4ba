# SPDX-License-Identifier: BSD-3-Clause
# device_down.sh NODE DEVICE PEER: a device goes down in the middle of a job without detours. The job ends, names the link,
# and leaves nothing.
. "${0%/*}/common.sh"
start_job --set transport.timeout=15s --set routing.detour=false
rxe-exec "node-$1" ip link set dev "$2" down || fail "the device does not go down"
end_job 80
[ $code != 0 ] || fail "the job ended with 0, expected an error"
expect_words "link between rank ($1|$3)\b.* and rank ($1|$3)\b"
no_rank_left
rxe-exec "node-$1" rxe-heal
