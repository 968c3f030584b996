#!/bin/sh
# The layers form without any of our code: every export of a folder converted with --form layers, run by ONNX Runtime,
# compared with PyTorch's results with merging before blocks 2 and 5.
#   layers_in_onnxruntime.sh MPM_PROGRAM EXPORTS_DIR WORK_DIR
# EXPORTS_DIR holds the output of make_exports.py, or the fixtures. Needs node and npm; WORK_DIR keeps node_modules.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mpm=$(realpath "$1") exports=$(realpath "$2") work=$3
mkdir -p "$work"
cd "$work"
[ -d node_modules/onnxruntime-node ] || npm install --silent --ignore-scripts onnxruntime-node
held=0 failed=""
for model in "$exports"/*.onnx; do
    base=${model%.onnx}
    name=$(basename "$base")
    [ ! -e "$base.refused" ] || continue
    size=""
    [ ! -e "$base.size" ] || size="--size $(sed 's/ /x/' "$base.size")"
    references=$(ls "$base".s2_5.output*.npy)
    # shellcheck disable=SC2086  # both are lists of words
    if ! "$mpm" convert "$model" "$name.layers.onnx" --form layers $size >/dev/null 2>refusal; then
        # This form takes one image of the size of the export.
        grep -q "the layers form takes one image" refusal || failed="$failed $name"
    elif node "$here/layers_in_onnxruntime.mjs" "$name.layers.onnx" "$base.input.npy" $references; then
        held=$((held + 1))
    else
        failed="$failed $name"
    fi
    rm -f "$name.layers.onnx"
done
echo "held: $held; failed:${failed:- none}"
[ -z "$failed" ] && [ $held -gt 0 ]
