#!/bin/sh
# share.sh MPM-MODELS MPM: runs the programs from training to measuring with token sharing, on frames of the built-in street.
set -eu
models=$1 mpm=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export OMP_NUM_THREADS=1

name=share
. "$here/expect.sh"

"$models" scene street --split train --seed 2 --frames 2 --size 64 96 >/dev/null
"$models" scene street --split val --frames 2 --size 64 96 >/dev/null
folder="--data street --dataset folder"
# shellcheck disable=SC2086  # a list of words
{
    "$models" policy $folder --out policy.pt --size 64 96 --crop 64 96 --steps 2 --batch 2 --share 3 --streets 2 >out 2>log
    grep -q 'recall .* at 3 of 6' out || fail "no recall: $(cat out)"
    "$models" policy $folder --out again.pt --from policy.pt --steps 0 --size 64 96 --share 3 >again 2>log
    [ "$(cut -d: -f2 out)" = "$(cut -d: -f2 again)" ] || fail "measured again: $(cat out again)"
    "$models" train $folder --out run --size 64 96 --crop 64 96 --steps 1 --batch 1 >out 2>log
    "$models" export run/best.pt plain.onnx --fused $folder >out 2>log
    "$models" import plain.onnx plain.pt --quiet >out
    "$models" train $folder --out shared --from plain.pt --policy policy.pt --share 3 --size 64 96 --crop 64 64 --steps 1 --batch 1 >out 2>log
    "$models" eval shared/best.pt $folder --policy policy.pt --share 3 >out
    grep -q mIoU out || fail "no mIoU: $(cat out)"
    "$models" export shared/best.pt shared.onnx $folder --policy policy.pt --share 3 >out 2>log
    fails 1 "6 superpatches" "$models" export shared/best.pt wrong.onnx $folder --policy policy.pt --share 7
    fails 3 "holds no policy" "$models" export shared/best.pt wrong.onnx $folder --policy plain.pt --share 1
    fails 2 "needs\|requires" "$models" export shared/best.pt wrong.onnx $folder --share 1
} 2>&1
[ ! -e wrong.onnx ] || fail "a file was written after an error"

"$mpm" eval shared.onnx --dataset folder --root street --json eval.json \
    --compare none,cts,cts:shared=2,policy=random,cts:shared=2,policy=oracle,cts:shared=6 >table 2>log || fail "$(cat log)"
# Each shared superpatch of four patches saves three of 24 tokens. The methods share 0, 3 (the file's number), 2, 2 and 6.
tokens=$(tr -d ' \n' <eval.json | grep -o '"tokens":\[[0-9.]*' | cut -d[ -f2 | tr '\n' ' ')
[ "$tokens" = "24.0 15.0 18.0 18.0 6.0 " ] || fail "tokens: $tokens"
"$mpm" eval shared.onnx --dataset folder --root street >own 2>log || fail "$(cat log)"
grep -q '^| cts .*15\.0' own || fail "the file's own method is not the default: $(cat own)"
"$mpm" bench shared.onnx --rounds 1 --warm-up 0 --compare none,cts:shared=4,cts:shared=4,policy=random >bench 2>log || fail "$(cat log)"
grep -q '^| cts:shared=4 .* 12 ' bench || fail "no 12 tokens: $(cat bench)"
fails 3 "no policy" "$mpm" eval plain.onnx --dataset folder --root street --compare cts:shared=2
fails 3 "no policy" "$mpm" bench plain.onnx --compare cts
fails 2 "6 superpatches" "$mpm" bench shared.onnx --compare cts:shared=7
fails 2 "needs labels" "$mpm" bench shared.onnx --compare cts:policy=oracle
fails 2 "policy=best" "$mpm" eval shared.onnx --dataset folder --root street --compare cts:policy=best
echo "share: from training to measuring; $checked errors of one line"
