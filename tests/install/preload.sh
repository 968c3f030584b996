#!/bin/sh
# preload.sh PROGRAM LIBRARY MODEL HxW: a program without MPM code must run a converted model if LD_PRELOAD
# loads the library. Environment variables select the settings.
set -eu
program=$1 library=$2 model=$3 size=$4

fail() {
    echo "preload: $1" >&2
    exit 1
}

with() { env LD_PRELOAD="$library" "$@" "$program" "$model" "$size"; }

! "$program" "$model" "$size" 2>/dev/null || fail "the model runs without the library: this test tests nothing"
all=$(with MPM_BLOCKS=none) || fail "does not run with MPM_BLOCKS=none"
merged=$(with MPM_BLOCKS=1) || fail "does not run with MPM_BLOCKS=1"
twice=$(with MPM_BLOCKS=0,1) || fail "does not run with MPM_BLOCKS=0,1"
again=$(with MPM_BLOCKS=1 MPM_DEVICE=cpu MPM_PRECISION=f32) || fail "does not run with MPM_DEVICE and MPM_PRECISION"
[ "$all" != "$merged" ] || fail "MPM_BLOCKS changes nothing: $all"
[ "$twice" != "$merged" ] || fail "a second merge changes nothing: $twice"
[ "$again" = "$merged" ] || fail "two runs differ: $merged and $again"

# refused SETTING WORD: the wrong setting must give a message with the word, and no crash.
refused() {
    if said=$(with "$1" 2>&1); then fail "$1 is taken without a word"; fi
    printf '%s' "$said" | grep -q "plain: .*mpm: .*$2" || fail "$1: the message does not contain $2: $said"
}
refused MPM_BLOCKS=two "blocks 'two'"
refused MPM_BLOCKS=2,1 "schedule"
refused MPM_BLOCKS=99 "block 99"
refused MPM_DEVICE=abacus "device 'abacus'"
refused MPM_PRECISION=f33 "precision 'f33'"
echo "preload: none $all, 1 $merged, 0,1 $twice"
