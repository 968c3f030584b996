#!/bin/sh
# Runs the programs of examples/ with an installation of BUILD in a scratch folder.
#   run.sh BUILD MODEL DETECTOR [PYTHON]
# MODEL is the shipped model, DETECTOR a tiny detector. PYTHON must have timm and torch; without PYTHON,
# own_vit is skipped with a message. The files of an example's folder may have 80 lines in all.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
examples=$(cd "$here/../../examples" && pwd)
build=$(cd "$1" && pwd)
model=$2 detector=$3 timm_python=${4:-/usr/bin/python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "examples: $1" >&2 && cat "$scratch/log" >&2 && exit 1; }
# says PATTERN COMMAND...: runs the command; a line of the output must match the pattern.
says() {
    pattern=$1
    shift
    timeout 120 "$@" >"$scratch/log" 2>&1 </dev/null || fail "$* failed"
    grep -Eq "$pattern" "$scratch/log" || fail "$*: no line '$pattern'"
}

for folder in "$examples"/*/; do
    lines=$(cat "$folder"* | wc -l)
    [ "$lines" -le 80 ] || { echo "examples: $folder has $lines lines, more than 80" >&2 && exit 1; }
    grep -q "]($(basename "$folder")/" "$examples/README.md" || { echo "examples: README.md misses $folder" >&2 && exit 1; }
done
for component in runtime dev tools; do
    cmake --install "$build" --prefix "$scratch/usr" --component $component >"$scratch/log" 2>&1 || fail "not installed"
done
# The programs must not use the user's settings.
export HOME="$scratch" PYTHONPATH="$build/python" PATH="$scratch/usr/bin:$PATH" PYTHONDONTWRITEBYTECODE=1
export GST_PLUGIN_PATH="$build/gstreamer" GST_REGISTRY="$scratch/registry.bin" MPM_DEVICE=cpu
cd "$scratch"
mkdir images
cp "$here/../../docs/images/street.jpg" images/

cmake -S "$examples/cpp" -B cpp -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$scratch/usr" >log 2>&1 &&
    cmake --build cpp >log 2>&1 || fail "the C++ program was not built"
says '^ *[0-9.]+ %  road$' cpp/segment "$model" images/street.jpg cpp.png 2 5
grep -q '^tokens entering each block: 1200 1200 [0-9]* [0-9]* [0-9]* [0-9]*' log || fail "the C++ program has other tokens"
[ -s cpp.png ] || fail "the C++ program wrote no overlay"
! cpp/segment "$model" missing.jpg cpp.png >log 2>&1 || fail "a missing image was accepted"

says '^street.jpg, Result' /usr/bin/python3 "$examples/python/segment.py" images python_out --model "$model"
[ -s python_out/street.overlay.png ] || fail "no overlay"
[ "$(sed -n 2p python_out/shares.csv | awk -F, '{ for (i = 5; i <= NF; ++i) sum += $i; print (NF == 15 && sum > 0.999 && sum < 1.001) }')" = 1 ] ||
    fail "shares.csv: $(cat python_out/shares.csv)"

says '^5 frames, .* % of the tokens computed$' /usr/bin/python3 "$examples/fixed_camera/watch.py" demo --frames 5 --class road
grep -q '"event": "arrived"' log || fail "no road"
[ "$(sed -n 's/.*, \([0-9]*\) % of.*/\1/p' log)" -lt 100 ] || fail "nothing was reused"

says '^1 frames, [0-9]+ objects$' /usr/bin/python3 "$examples/detector/detect.py" "$detector" images/street.jpg objects --threshold 0.1
grep -Eq '"class": "[^"]+", "score": 0\.[0-9]+, "box": \[' objects/objects.jsonl || fail "no objects: $(cat objects/objects.jsonl)"
[ -s objects/000001.overlay.png ] || fail "no overlay of the objects"
! /usr/bin/python3 "$examples/detector/detect.py" "$model" images/street.jpg objects >log 2>&1 || fail "a segmenter was accepted"

if [ ! -e "$build/gstreamer/libgstmpm.so" ] || ! /usr/bin/python3 -c 'import gi; gi.require_version("GstApp", "1.0")' 2>/dev/null; then
    echo "examples: gstreamer skipped: it needs python3-gi gir1.2-gst-plugins-base-1.0 gstreamer1.0-plugins-base"
else
    reader="$examples/gstreamer/read_metadata.py"
    says '"tokens": \[1200, .*"shares": \{"' /usr/bin/python3 "$reader" 'videotestsrc num-buffers=2' --model "$model" --reuse
    [ "$(grep -c '"recomputed"' log)" = 2 ] || fail "not a line for each frame"
    says '"tokens": ' /usr/bin/python3 "$reader" 'videotestsrc num-buffers=1' --model "$detector"
    /usr/bin/python3 -c 'import gi; gi.require_version("GstAnalytics", "1.0")' 2>/dev/null ||
        grep -Eq '"objects": \[\{"id": [0-9]+, "class": ' log || fail "no objects"
    timeout 60 /usr/bin/python3 "$reader" 'videotestsrc num-buffers=1' --model missing.onnx >log 2>&1 && fail "a missing model was accepted"
    grep -q '^read_metadata.py: .*missing.onnx' log || fail "the error does not name the model"
fi

if ! "$timm_python" -c 'import timm, torch' 2>/dev/null; then
    echo "examples: own_vit skipped: it needs timm, which ./run exports installs"
else
    "$timm_python" -c 'import timm, torch
torch.manual_seed(1)
torch.save(timm.create_model("vit_tiny_patch16_224", num_classes=7).state_dict(), "own.pth")'
    says '"difference": [0-9.]+e-0[5-9]' "$timm_python" "$examples/own_vit/own_vit.py" vit_tiny_patch16_224 own.pth images own.onnx \
        --classes 7 --keep 0.5
    [ -s own.onnx ] || fail "own_vit wrote no model"
fi
echo "examples: all programs ran"
