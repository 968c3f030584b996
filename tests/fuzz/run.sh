#!/bin/sh
# run.sh BUILD MINUTES      runs every fuzz target of the folder BUILD for a share of MINUTES, one target for
#                           each processor at a time. A target continues where the last call stopped. The
#                           driver measures processor time, so a busy machine takes longer; libFuzzer does not
# run.sh BUILD --mutants N  runs every seed and N mutants of each seed (with libFuzzer: only the seeds), and N
#                           mutants of each real export
#   --only NAME             a single target
# Progress is kept in build/fuzz/state, failed inputs in build/fuzz/findings. Exit status 1 if this call has
# findings.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift

wrong() {
    echo "fuzz: $1; expected MINUTES or --mutants N, and --only NAME" >&2
    exit 2
}

minutes=0 mutants="" only='*'
while [ $# -gt 0 ]; do
    case $1 in
    --mutants | --only)
        [ $# -gt 1 ] || wrong "$1 needs a value"
        if [ "$1" = --only ]; then only=$2; else mutants=$2; fi
        shift
        ;;
    *) minutes=$1 ;;
    esac
    shift
done
case $minutes in '' | *[!0-9]*) wrong "'$minutes' is no number of minutes" ;; esac
limited=""
[ -n "$mutants" ] || { mutants=20 limited=1; }
case $mutants in *[!0-9]*) wrong "'$mutants' is no number of mutants" ;; esac

kept=$here/../../build/fuzz
mkdir -p "$kept/state" "$kept/findings" "$kept/log" "$kept/corpus" "$kept/work"
kept=$(cd "$kept" && pwd)
targets=$(find "$build/tests/fuzz" -maxdepth 1 -name "fuzz_$only" -type f -perm -u+x | sort)
[ -n "$targets" ] || wrong "there is no target fuzz_$only in $build"
count=$(printf '%s\n' "$targets" | wc -l)
jobs=$(nproc)
[ "$count" -ge "$jobs" ] || jobs=$count

# By default (in continuous integration), all targets have 150 seconds, and real exports have 240.
MPM_FUZZ_AT_MOST=${limited:+$((150 * jobs / count))}
export MPM_FUZZ_AT_MOST
export MPM_FUZZ_KEPT="$kept" MPM_FUZZ_SEEDS="$here/seeds" MPM_FUZZ_MUTANTS="$mutants"
export MPM_FUZZ_SECONDS=$((minutes * 60 * jobs / count))
export MPM_FUZZ_CLANG=0
! grep -qs '^MPM_LIBFUZZER:BOOL=ON' "$build/CMakeCache.txt" || MPM_FUZZ_CLANG=1
begun=$(date +%s) status=0
printf '%s\n' "$targets" | xargs -P "$jobs" -n 1 sh "$here/one.sh" || status=1

# table: prints the sums over all calls, a line for each target.
table() {
    printf '%-14s %14s %10s %9s %9s %9s\n' target runs seconds slowest peak findings
    for state in "$kept"/state/fuzz_*; do
        [ ! -e "$state" ] || awk -v name="${state##*/fuzz_}" '
            { value[$1] = $2 }
            END { printf "%-14s %14d %10.0f %7.2f s %5.0f MiB %9d\n", name, value["runs"], value["seconds"],
                         value["slowest"], value["peak"], value["findings"] }' "$state"
    done | awk '{ print; runs += $2; seconds += $3 } END { printf "%-14s %14d %10.0f\n", "together", runs, seconds }'
}
# Runs the same number of mutants of each real export, if there are exports.
if [ "$minutes" -eq 0 ] && [ "$only" = '*' ] && [ "$MPM_FUZZ_CLANG" = 0 ]; then
    MPM_FUZZ_AT_MOST=${limited:+240} sh "$here/mutants.sh" "$build" "$mutants" || [ $? -eq 77 ] || status=1
fi
[ "$minutes" -eq 0 ] || table
echo "fuzz: $count targets in $(($(date +%s) - begun)) s"
[ $status -eq 0 ] || echo "fuzz: findings: the inputs and their reports lie in $kept/findings" >&2
exit $status
