# SPDX-License-Identifier: BSD-3-Clause
# random_messages.sh COUNT: random messages between random pairs with two credits per virtual channel. All arrive unchanged and in order, every packet
# finds a slot, and no relay copies a packet (except the few that arrive before a link is open).
. "${0%/*}/common.sh"
torus-run -np "$RXE_SIZE" --set transport.tokens=2 --set transport.relay_tokens=2 relay_soak_job --messages "$1" >$said 2>&1 ||
    fail "the job failed"
grep -q "all right and in order" $said || fail "the final line is missing"
[ "$(grep -c "receiver not ready 0 " $said)" = "$RXE_SIZE" ] || fail "some packet found no slot, or not all ranks reported it"
sed -n 's/.*\(messages over\)/figure: '"$1"' \1/p' $said
awk '/forwarded from/ { for (i = 1; i < NF; i++) if ($i == "slot") sent += $(i + 1) }
     /sent again/ { again += $NF }
     END { print "figure: packets sent on from the slot in which they came " sent ", sent again by the devices " again }' $said
