#!/bin/sh
# one.sh PROGRAM: runs a fuzz target. run.sh sets time and folders in MPM_FUZZ_... Prints a line if the run
# succeeds, else the whole output.
set -eu
program=$1 name=${1##*/}
log=$MPM_FUZZ_KEPT/log/$name state=$MPM_FUZZ_KEPT/state/$name seeds=$MPM_FUZZ_SEEDS/${name#fuzz_}
mkdir -p "$MPM_FUZZ_KEPT/work/$name"
cd "$MPM_FUZZ_KEPT/work/$name"  # the target writes files to the current folder

# ours: runs the target with the driver of tests/fuzz/driver.
ours() {
    if [ "$MPM_FUZZ_SECONDS" -gt 0 ]; then
        set -- --seconds "$MPM_FUZZ_SECONDS" --state "$state"
    else
        set -- --rounds "$MPM_FUZZ_MUTANTS" ${MPM_FUZZ_AT_MOST:+--at-most "$MPM_FUZZ_AT_MOST"}
    fi
    "$program" "$@" --findings "$MPM_FUZZ_KEPT/findings" "$seeds" >"$log" 2>&1
}

# clangs: runs the target with clang's libFuzzer, and adds the figures to those of earlier calls.
clangs() {
    corpus=$MPM_FUZZ_KEPT/corpus/$name result=0
    mkdir -p "$corpus"
    set -- -timeout=30 -rss_limit_mb=2560 -malloc_limit_mb=2048 -print_final_stats=1
    set -- "$@" -artifact_prefix="$MPM_FUZZ_KEPT/findings/$name-"
    if [ "$MPM_FUZZ_SECONDS" -gt 0 ]; then
        set -- "$@" -max_total_time="$MPM_FUZZ_SECONDS" "$corpus"
    else
        set -- "$@" -runs=0
    fi
    begun=$(date +%s)
    "$program" "$@" "$seeds" >"$log" 2>&1 || result=1
    spent=$(($(date +%s) - begun))
    touch "$state"
    awk -v spent=$spent -v found=$result '
        $1 == "stat::number_of_executed_units:" { value["runs"] += $2 }
        $1 == "stat::slowest_unit_time_sec:" && $2 > value["slowest"] { value["slowest"] = $2 }
        $1 == "stat::peak_rss_mb:" && $2 > value["peak"] { value["peak"] = $2 }
        FILENAME == ARGV[1] { value[$1] = $2 }
        END { value["seconds"] += spent; value["findings"] += found
              for (key in value) print key, value[key] }' "$state" "$log" >"$state.part"
    mv "$state.part" "$state"
    return $result
}

if [ "$MPM_FUZZ_CLANG" = 1 ]; then run=clangs; else run=ours; fi
if $run; then
    ! grep 'mutants left out' "$log" || :
    tail -n 1 "$log" | sed "s/^/$name: /;s/^$name: $name: /$name: /"
else
    cat "$log"
    exit 1
fi
