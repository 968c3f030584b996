#!/bin/sh
# check_driver.sh PROGRAM: checks that the driver finds planted faults. PROGRAM is planted.cpp with the driver.
set -eu
program=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
case $program in /*) ;; *) program=$PWD/$program ;; esac
cd "$scratch"
mkdir seeds

fail() {
    echo "check_driver: $1" >&2
    [ ! -e said ] || sed 's/^/  | /' said >&2
    exit 1
}

# finds WORDS TEXT OPTION...: the driver must report the fault of seed TEXT with WORDS, and keep the input.
finds() {
    words=$1
    printf '%s' "$2" >seeds/one
    shift 2
    rm -rf kept
    if "$program" "$@" --findings kept seeds >said 2>&1; then fail "'$(cat seeds/one)' is not found"; fi
    grep -q "FINDING: .*$words" said || fail "'$(cat seeds/one)' is not called '$words'"
    kept=$(find kept -type f ! -name '*.txt' | head -n 1)
    [ -n "$kept" ] || fail "'$(cat seeds/one)' is not kept"
    [ -s "$kept.txt" ] || fail "there is no report beside $kept"
}

finds 'ended by Aborted' 'crash' --rounds 1
cmp -s "$kept" seeds/one || fail "another input was kept"
! "$program" "$kept" >/dev/null 2>&1 || fail "what was kept does not crash again"
finds 'took more than 1 s' 'endless' --rounds 1 --input-seconds 1
finds 'took more than 0.1 s' 'asleep' --rounds 1 --input-seconds 0.1
finds 'more than 200 MiB' 'large' --rounds 1 --mebibytes 200
finds 'ended with status 7' 'exit' --rounds 1
finds 'leaves files open' 'open' --rounds 1000

# Only mutants of this seed crash, so the driver must have time for mutants.
finds 'ended by Aborted' 'crash only when changed' --seconds 0.5 --state state
[ "$(awk '$1 == "findings" { print $2 }' state)" = 1 ] || fail "the same fault is counted again and again"

# A second call must continue after the last position of the first call, and add to the counts.
printf 'nothing' >seeds/one
rm -f state
"$program" --seconds 0.2 --state state seeds >said || fail "a finding where there is none"
first=$(awk '$1 == "position" { print $2 }' state)
"$program" --seconds 0.2 --state state seeds >said || fail "a finding where there is none"
awk -v first="$first" '$1 == "position" { at = $2 } $1 == "runs" { runs = $2 } END { exit !(at > first && runs >= at) }' \
    state || fail "a second call starts anew"
"$program" --rounds 20 seeds >said && grep -q '21 runs' said || fail "20 mutants and a seed are not 21 runs"
"$program" --rounds 1000000000 --at-most 0.2 seeds >said && grep -q 'mutants left out' said || fail "--at-most is not kept"
! "$program" --rounds 1 missing >said 2>&1 || fail "a missing folder is taken"
echo "check_driver: every planted fault found, kept and counted"
