# SPDX-License-Identifier: BSD-3-Clause
# silence.sh TIMES: jobs start and end, also with memory left behind, and ranks compute for longer than any timeout. Nothing may be
# printed.
. "${0%/*}/common.sh"
silent() {
    torus-run -np "$RXE_SIZE" front_end_steps "$@" >$said 2>&1 || fail "'$*' failed"
    [ ! -s $said ] || fail "'$*' was not silent"
}
for n in $(seq "$1"); do
    silent mpi
    silent qmp
done
# In one job, because guests take ten seconds to start and end one. One rank computes while the others
# open their links; all compute while links are idle; one leaves a message unread.
silent mpi nap=12@$((RXE_SIZE - 1)) barrier corners nap=12 barrier corners unread=12
