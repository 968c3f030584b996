# Functions for scripts that test programs: fail and fails. Messages begin with $name, which the script sets.
fail() {
    echo "$name: $1" >&2
    exit 1
}

# fails STATUS WORDS COMMAND...: the command fails with this status and a single line that has the words.
fails() {
    status=$1 words=$2
    shift 2
    got=0
    "$@" >out 2>error </dev/null || got=$?
    [ $got = "$status" ] || fail "status $got, not $status: $* ($(cat error))"
    [ "$(grep -c '' error)" = 1 ] || fail "not one line: $(cat error)"
    grep -q "$words" error || fail "no '$words' in: $(cat error)"
    checked=$((checked + 1))
}
checked=0
