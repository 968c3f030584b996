#!/bin/sh
# import_onnx.sh MPM-MODELS MPM: checks that one command converts a checkpoint in Segmenter's layout to an ONNX file, and
# that each error is a single line.
set -eu
models=$1 mpm=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
/usr/bin/python3 -c 'import torch' 2>/dev/null || { echo "import_onnx: no python3 with torch" && exit 77; }
/usr/bin/python3 -B "$here/make_weights.py" "$scratch"
cd "$scratch"

name=import_onnx
. "$here/expect.sh"

"$models" import ade20k/checkpoint.pth ade.onnx --quiet >out 2>error || fail "ADE20K: $(cat out error)"
[ ! -s error ] || fail "warnings: $(head -n 3 error)"
awk '/largest difference to LibTorch/ { if ($NF > 1e-4) exit 1; found = 1 } END { exit !found }' out || fail "no difference within 1e-4: $(cat out)"
"$mpm" info ade.onnx --json >info 2>/dev/null
grep -q '"wall"' info && grep -q '"flag"' info || fail "the names of ADE20K are not in the file"
tr -d ' \n' <info | grep -q '4,250,7' || fail "the colours of ADE20K are not in the file"
"$mpm" info ade.onnx 2>/dev/null | grep -q 'blocks.*3\|3 blocks' || fail "no model of three blocks"

"$models" import segmenter/checkpoint.pth model.pt --quiet >out
[ -s model.pt ] || fail "weights for mpm-models were not written"
echo '[{"name":"a","color":[0,0,1]},{"name":"b","color":[0,0,2]},{"name":"c","color":[0,0,3]},{"name":"d","color":[0,0,4]},
{"name":"e","color":[0,0,5]},{"name":"f","color":[0,0,6]},{"name":"g","color":[0,0,7]}]' >classes.json
"$models" import segmenter/checkpoint.pth seven.onnx --classes-of classes.json --blocks 1 --quiet >out || fail "own classes: $(cat out)"
"$mpm" info seven.onnx --json 2>/dev/null | grep -q '"g"' || fail "the names of the JSON file are not in the ONNX file"

fails 3 "7 classes, the data set 150" "$models" import segmenter/checkpoint.pth wrong.onnx --quiet
fails 3 "7 classes, the data set 19" "$models" import segmenter/checkpoint.pth wrong.onnx --classes-of cityscapes --quiet
fails 3 "name it with --classes-of" "$models" import linear.pth wrong.onnx --quiet
fails 3 "no weights for" "$models" import deit.pth wrong.onnx --quiet --classes-of ade20k
fails 1 "class file moon" "$models" import linear.pth wrong.onnx --quiet --classes-of moon
fails 1 "7 classes" "$models" export model.pt wrong.onnx --dataset cityscapes
head -c 3000 ade20k/checkpoint.pth >cut.pth
fails 3 "cut.pth" "$models" import cut.pth wrong.onnx
fails 3 "import_onnx" "$models" import "$here/import_onnx.sh" wrong.onnx
fails 2 "missing.pth" "$models" import missing.pth wrong.onnx
fails 2 "input" "$models" import
fails 1 "block" "$models" import ade20k/checkpoint.pth wrong.onnx --quiet --blocks 9
[ ! -e wrong.onnx ] || fail "a file was written after an error"
echo "import_onnx: one command for each file; $checked errors of one line"
