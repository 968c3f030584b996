#!/bin/sh
# slurm.sh BUILD: runs deploy/slurm with Debian's slurmctld, slurmd and munge, which this test starts on free
# ports, with their files in a scratch folder. There are four shards: the first is requeued from outside, the
# program of the second is killed, the third is warned of the time limit, and the fourth runs undisturbed. The
# joined result must equal that of a whole run, except for the times.
set -eu
. "$(dirname "$0")/common.sh"
needs "slurmctld slurmd munge" munged slurmctld slurmd sbatch
[ "$(id -u)" = 0 ] || { echo "slurm: skipped: slurmd needs root" && exit 77; }

start_slurm() {
    mkdir "$scratch/munge" "$scratch/state" "$scratch/spool"
    mungekey --create --keyfile "$scratch/munge/key"
    # The separate socket avoids the machine's own munge. --force allows files below /tmp.
    serve munged munged --foreground --force --key-file="$scratch/munge/key" --socket="$scratch/munge/socket" \
        --pid-file="$scratch/munge/pid" --seed-file="$scratch/munge/seed"
    ports=$(free_ports 2)
    # cred_expire is the time that a requeued job waits (120 s by default).
    cat >"$scratch/slurm.conf" <<EOF
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=${ports% *}
SlurmdPort=${ports#* }
AuthType=auth/munge
AuthInfo=socket=$scratch/munge/socket,cred_expire=3
SlurmUser=root
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1
SlurmdParameters=config_overrides
KillWait=2
NodeName=$(hostname) NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
EOF
    export SLURM_CONF="$scratch/slurm.conf"
    until_true 20 test -S "$scratch/munge/socket" || fail "munged did not start"
    serve slurmctld slurmctld -D -i
    serve slurmd slurmd -D -N "$(hostname)"
    until_true 60 idle || fail "the node did not become idle"
}
idle() { [ "$(sinfo --noheader --format=%t 2>/dev/null)" = idle ]; }

# job SHARD: prints the id of the Slurm job that runs this shard.
job() { squeue --noheader --array --format='%K %A' | awk -v task="$1" '$1 == task { print $2 }'; }
# measured SHARD: whether at least two images, but not all, are in the shard's counts.
measured() { [ -e "results/$1.counts" ] && [ "$(wc -l <"results/$1.counts")" -ge 3 ]; }
# interrupt SHARD COMMAND...: runs the command in the middle of the shard; keeps counts in SHARD.before.
interrupt() {
    shard=$1
    shift
    until_true 120 measured "$shard" || fail "shard $shard did not begin"
    "$@" || fail "shard $shard: $* failed"
    head -n 3 "results/$shard.counts" >"$shard.before"
    [ "$(wc -l <"results/$shard.counts")" -lt 9 ] || fail "shard $shard was done before it could be interrupted"
}
kill_program() {
    for process in $(scontrol listpids "$(job "$1")" | awk 'NR > 1 && $1 > 0 { print $1 }'); do
        [ "$(cat "/proc/$process/comm" 2>/dev/null)" != mpm ] || kill -KILL "$process"
    done
}
requeue() { scontrol requeue "$(job "$1")"; }
near_limit() { scancel --batch --signal=USR1 "$(job "$1")"; }
all_done() { [ -z "$(squeue --noheader)" ]; }

# same WHOLE JOINED: whether both results are equal, except for times and threads.
same() {
    /usr/bin/python3 - "$1" "$2" <<'EOF'
import json, sys
TIMES = {"images_per_second", "stderr", "windows_per_second", "ms", "mean_ms", "encoder_ms", "merge_ms", "restore_ms", "threads"}
def plain(value):
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items() if key not in TIMES}
    return [plain(v) for v in value] if isinstance(value, list) else value
whole, joined = (json.dumps(plain(json.load(open(path)))) for path in sys.argv[1:])
assert len(whole) > 1000, "the results are empty"
sys.exit(0 if whole == joined else "the results differ:\n%s\n%s" % (whole, joined))
EOF
}

export PATH="$build/cli:$build/models/torch:$PATH"
cd "$scratch"
start_slurm
mpm-models scene street --frames 32 >/dev/null
eval_words="default --dataset folder --root $scratch/street --compare none,mpm,tome:r=13"
# shellcheck disable=SC2086  # a list of words
array=$(sbatch --parsable --array=1-4 --cpus-per-task=1 --output=log/shard.%a "$tree/deploy/slurm/eval.sbatch" results $eval_words)
# shellcheck disable=SC2086
join=$(sbatch --parsable --dependency=afterany:"$array" --output=log/join "$tree/deploy/slurm/join.sbatch" results)
interrupt 1 requeue 1
interrupt 2 kill_program 2
interrupt 3 near_limit 3
until_true 240 all_done || fail "the jobs $array and $join did not end: $(squeue)"
[ -s results/result.json ] || fail "no result: $(cat log/join)"

for shard in 1 2 3; do
    head -n 3 "results/$shard.counts" | cmp -s - "$shard.before" || fail "shard $shard measured images twice"
done
for shard in 2 3; do
    grep -q "is queued again" log/shard.$shard || fail "shard $shard did not queue itself again"
done
! grep -q "is queued again" log/shard.4 || fail "shard 4 was not undisturbed"
# shellcheck disable=SC2086
mpm eval $eval_words --json whole.json >/dev/null
same whole.json results/result.json || fail "the joined result is not the whole"
# A missing shard is an error. An array that begins at 0 is also an error, because shards begin at 1.
rm results/4.counts
! sh "$tree/deploy/slurm/join.sbatch" results 2>missing || fail "a missing shard was not noticed"
grep -q "shard 4 of 4 is missing" missing || fail "the message does not name the shard: $(cat missing)"
! SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=3 SLURM_ARRAY_TASK_COUNT=4 \
    sh "$tree/deploy/slurm/eval.sbatch" results default 2>missing || fail "an array from 0 was accepted"
grep -q "array=1-N" missing || fail "the message does not name the numbers: $(cat missing)"
echo "slurm: four shards, three of them interrupted, joined to the whole"
