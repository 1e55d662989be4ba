#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Starts a Slurm of its own on this host (munged, slurmctld, slurmd, all in one temporary folder and,
# to keep their ports free, in a network namespace), runs the rank program
# under srun, and takes everything down again.
#   slurm.sh RANK_PROGRAM TORUS_RUN
# Exit code 77: skipped, because a package or root is missing.
set -uo pipefail
# For a build with the address sanitizer.
export LSAN_OPTIONS=print_suppressions=0:suppressions=$(dirname "$(readlink -f "$0")")/lsan.supp
rank_program=$1
torus_run=$2

skip() { echo "SKIPPED: $*"; exit 77; }
for tool in munged slurmctld slurmd srun salloc; do
    PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null ||
        skip "no $tool (Debian: slurmctld slurmd slurm-client munge slurm-wlm-basic-plugins)"
done
[ "$(id -u)" = 0 ] || skip "slurmd needs root"
PATH=$PATH:/usr/sbin
if [ -z "${IN_A_NETWORK_OF_ITS_OWN:-}" ]; then
    unshare --net true 2>/dev/null || skip "this machine makes no network namespaces"
    IN_A_NETWORK_OF_ITS_OWN=1 exec unshare --net "$0" "$@"
fi
# A device beside the loopback: without one that has an address, Slurm's getaddrinfo finds no family.
ip link set lo up
ip link add here type veth peer name there
ip address add 10.0.0.1/24 dev here
ip link set here up
# The devices that the prologue watches.
ip link add cable type veth peer name far_end
ip link set cable up
ip link set far_end up

folder=$(mktemp -d /tmp/torusmp-slurm.XXXXXX)
pids=()
# Backwards: slurmd, slurmctld, munged. Each is our own child, so no other process can have its pid.
clean_up() {
    for ((i = ${#pids[@]} - 1; i >= 0; --i)); do kill "${pids[i]}" 2>/dev/null; done
    for ((tries = 0; tries < 50; ++tries)); do
        local alive=0
        for pid in "${pids[@]}"; do kill -0 "$pid" 2>/dev/null && alive=1; done
        [ $alive = 0 ] && break
        sleep 0.1
    done
    for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

chmod 755 "$folder"
mkdir -p "$folder"/{state,spool,munge,tmp}
dd if=/dev/urandom of="$folder/munge/key" bs=1024 count=1 status=none
chmod 700 "$folder/munge"
chmod 600 "$folder/munge/key"
munged --foreground --force --num-threads=2 --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
    --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" \
    >"$folder/munged.out" 2>&1 &
pids+=($!)

host=$(hostname -s)
cores=$(nproc)
cat >"$folder/slurm.conf" <<CONF
ClusterName=torusmp
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
Prolog=$folder/prolog
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1
MpiDefault=none
ReturnToService=2
KillWait=1
SlurmctldParameters=enable_configless
GresTypes=link
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cores RealMemory=100 Gres=link:6 State=UNKNOWN
PartitionName=test Nodes=$host Default=YES MaxTime=10 State=UP OverSubscribe=FORCE:16
CONF
cat >"$folder/cluster.toml" <<CONF
[torus]
dims = [2]
periodic = [false]
[nodes]
hosts = ["$host", "elsewhere"]
[links]
"0+" = "cable"
"0-" = "cable"
CONF
cat >"$folder/prolog" <<CONF
#!/bin/sh
export PATH=$(dirname "$(readlink -f "$torus_run")"):$PATH SLURM_CONF=$folder/slurm.conf
export TORUSMP_CONFIG=$folder/cluster.toml TORUSMP_STATE=$folder/links
exec $(dirname "$(readlink -f "$0")")/../../examples/slurm/prolog >>$folder/prolog.out 2>&1
CONF
chmod +x "$folder/prolog"
echo "Name=link Count=6" >"$folder/gres.conf"
echo "CgroupAutomount=no" >"$folder/cgroup.conf"
echo "PMIxCliTmpDirBase=$folder/tmp" >"$folder/mpi.conf" # else in /tmp, by a name that every first job has
sed -i '/enable_configless/d' "$folder/slurm.conf"
export SLURM_CONF=$folder/slurm.conf TMPDIR=$folder/tmp

slurmctld -D -f "$SLURM_CONF" >"$folder/slurmctld.out" 2>&1 &
pids+=($!)
slurmd -D -f "$SLURM_CONF" >"$folder/slurmd.out" 2>&1 &
pids+=($!)

for ((deadline = SECONDS + 60; SECONDS < deadline;)); do
    state=$(timeout -k 1 5 sinfo -h -o %T 2>/dev/null)
    [ "$state" = idle ] && break
    sleep 0.2
done
if [ "$state" != idle ]; then
    tail -n 15 "$folder"/*.log "$folder"/*.out
    echo "FAILED: the Slurm node did not come up (state '$state')"
    exit 1
fi

timeout -k 1 20 srun --mpi=list >"$folder/plugins" 2>&1
grep -q pmix "$folder/plugins" || skip "this Slurm has no pmix plug-in (Debian: slurm-wlm-basic-plugins)"

# Runs a command with a limit; its output goes to $folder/out, its exit code to $code.
run() {
    timeout -k 5 30 "$@" >"$folder/out" 2>&1
    code=$?
}
explain() { echo "    $*; exit code $code, output:"; sed 's/^/    | /' "$folder/out"; }

srun_pmix=(srun --mpi=pmix -n 4 --overcommit)
run "${srun_pmix[@]}" "$rank_program" connect report exchange exchange-large barrier finalize
[ $code = 0 ] && [ "$(grep -c '^pmix rank [0-3] of 4, local 0 1 2 3$' "$folder/out")" = 4 ] ||
    { fail "four ranks meet over PMIx"; explain srun; }

# As on a machine where a job takes the links of its nodes with it.
run "${srun_pmix[@]}" --gres=link:6 "$rank_program" connect report barrier finalize
[ $code = 0 ] && [ "$(grep -c '^pmix rank [0-3] of 4' "$folder/out")" = 4 ] ||
    { fail "a job takes the six links of its node"; explain srun; }
run "${srun_pmix[@]}" --gres=link:7 "$rank_program" connect report barrier finalize
[ $code != 0 ] && ! grep -q '^pmix rank' "$folder/out" ||
    { fail "no job gets more links than a node has"; explain srun; }

run "${srun_pmix[@]}" "$rank_program" connect barrier 2:abort=7,enough barrier
[ $code != 0 ] && grep -q 'rank 2 .*aborted with code 7: enough' "$folder/out" ||
    { fail "abort ends the job and names the rank"; explain srun; }

run srun --mpi=none -n 2 --overcommit "$rank_program" connect print=silent-singleton
[ $code != 0 ] && grep -q "srun --mpi=pmix" "$folder/out" && ! grep -q silent-singleton "$folder/out" ||
    { fail "srun without PMIx is refused"; explain srun; }

run srun --mpi=none -n 1 "$rank_program" connect report finalize
[ $code = 0 ] && grep -q '^single rank 0 of 1' "$folder/out" ||
    { fail "a step of one task runs alone"; explain srun; }

run salloc -n 2 --overcommit "$rank_program" connect report finalize
[ $code = 0 ] && grep -q '^single rank 0 of 1' "$folder/out" ||
    { fail "a program inside an allocation, without a step, runs alone"; explain salloc; }

run salloc -n 2 --overcommit "$torus_run" -np 2 "$rank_program" connect report barrier finalize
[ $code = 0 ] && [ "$(grep -c '^torus-run rank [01] of 2' "$folder/out")" = 2 ] ||
    { fail "torus-run works inside an allocation"; explain salloc; }

run srun --mpi=pmix -n 1 "$torus_run" -np 2 "$rank_program" connect report barrier finalize
[ $code = 0 ] && [ "$(grep -c '^torus-run rank [01] of 2' "$folder/out")" = 2 ] ||
    { fail "torus-run inside a PMIx task starts ranks of its own"; explain srun; }

printf '#!/bin/sh\n%s connect report finalize\n' "$rank_program" >"$folder/batch"
run sbatch --wait -n 2 --overcommit -o "$folder/batch.out" "$folder/batch"
cat "$folder/batch.out" >>"$folder/out" 2>/dev/null
[ $code = 0 ] && grep -q '^single rank 0 of 1' "$folder/out" ||
    { fail "a program in a batch script, without a step, runs alone"; explain sbatch; }

# The last case: the node stays drained. The job itself is queued again, so no process waits for it.
ip link set cable down
code=none
sbatch -n 1 -o /dev/null "$folder/batch" >"$folder/out" 2>&1
for ((deadline = SECONDS + 30; SECONDS < deadline;)); do
    timeout -k 1 5 sinfo -h -o '%T %E' >"$folder/out" 2>&1
    grep -q '^drain.* torus: cable' "$folder/out" && break
    sleep 0.2
done
grep -q '^drain.* torus: cable' "$folder/out" ||
    { cat "$folder/prolog.out" >>"$folder/out"; fail "the prologue drains a node with a broken link, with the reason"; explain sinfo; }
timeout -k 1 10 scancel --user="$(id -un)" >/dev/null 2>&1

[ $failures = 0 ] && echo "all Slurm cases passed"
exit $((failures > 0))
