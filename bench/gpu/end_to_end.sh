#!/bin/sh
# Runs a converted model in OpenCV's cv::dnn on a machine that has a GPU but no OpenCV.
#   bench/gpu/end_to_end.sh pack FOLDER [BUILD]   on Debian, after cmake --build --preset cuda (BUILD: build/cuda), copies
#                                                 the programs, libmpm, the libraries that these need, and the
#                                                 fixtures of $MPM_SHARED_DIR (../shared) if there are any: about
#                                                 400 MB. Split: tar -c FOLDER | xz | split -b 48M - FOLDER.
#   bench/gpu/end_to_end.sh run FOLDER OUT [STEP]...   after run.sh OUT build on the GPU machine, with PyTorch and timm:
#       suite      suite.txt        the encoder's suite
#       fixtures   fixtures.txt     converted fixtures, compared with PyTorch's results
#       model      labels.txt, end_to_end.json   exports and converts a ViT-B; compares labels with the CPU's, and runs
#                                   mpm bench --device cuda
# OUT gets these files and doctor.txt. Default: all steps.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)

# Libraries that every Linux has. They are not packed, because the other machine must use its own.
own='/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv|util))\.so'

needed() {
    ldd "$@" | awk '$3 ~ /^\// { print $3 }' | sort -u | grep -Ev "$own" | grep -v "/libmpm"
}

pack() {
    folder=$1 build=${2:-$root/build/cuda}
    mkdir -p "$folder/lib"
    cp "$build/cli/mpm" "$build/tests/mpm_layer/cuda/mpm_layer_cuda_encoder_test" \
        "$build/tests/models/onnx/mpm_test_convert" "$folder/"
    shared=${MPM_SHARED_DIR:-$root/../shared}
    [ ! -d "$shared/fixtures" ] || cp -r "$shared/fixtures" "$folder/"
    cp -P "$build"/mpm_layer/libmpm.so* "$folder/lib/"
    needed "$folder/mpm" "$folder/mpm_layer_cuda_encoder_test" "$folder/mpm_test_convert" "$build/mpm_layer/libmpm.so" |
        xargs cp -L -t "$folder/lib"
    strip "$folder/mpm" "$folder/mpm_layer_cuda_encoder_test" "$folder/mpm_test_convert"
    du -sh "$folder"
}

suite() {
    "$folder/mpm_layer_cuda_encoder_test" --gtest_brief=1 >"$out/suite.txt" 2>&1 || status=$?
    tail -n 5 "$out/suite.txt"
}

# Runs whole models, whose merge maps must be equal to PyTorch's, not only close.
fixtures() {
    MPM_DEVICE=cuda MPM_SHARED_DIR="$folder" "$folder/mpm_test_convert" \
        --gtest_filter='*ConvertsFixture*' >"$out/fixtures.txt" 2>&1 || status=$?
    tail -n 5 "$out/fixtures.txt"
}

# The weights are random, so the labels mean nothing, but both devices must give the same labels.
model() {
    [ -e "$out/vit.onnx" ] || python3 "$root/bench/gpu/export.py" "$out/vit.onnx"
    for merging in mpm gentle; do
        "$folder/mpm" convert "$out/vit.onnx" "$out/$merging.onnx" --method "$merging" --normalise half
        for device in cpu cuda; do
            "$folder/mpm" run "$out/$merging.onnx" "$root/docs/images/street.jpg" --device "$device" --save labels \
                --out "$out/$merging-$device"
        done
    done
    python3 - "$out" <<'PYTHON' | tee "$out/labels.txt"
import sys
from pathlib import Path
import numpy as np
from PIL import Image
for merging in ("mpm", "gentle"):
    cpu, cuda = (np.array(Image.open(next(Path(sys.argv[1], f"{merging}-{device}").glob("*.labels.png"))))
                 for device in ("cpu", "cuda"))
    print(f"{merging}: pixels labelled alike on both devices: {(cpu == cuda).mean():.4%}")
PYTHON
    "$folder/mpm" bench "$out/mpm.onnx" --device cuda --precision bf16 --compare none,mpm:2+5 \
        --json "$out/end_to_end.json"
}

run() {
    folder=$(cd "$1" && pwd) out=$(cd "$2" && pwd)
    shift 2
    [ $# -gt 0 ] || set -- suite fixtures model
    export LD_LIBRARY_PATH="$folder/lib" MPM_CUDA_LIBRARY="$out/libmpm_cuda.so"
    status=0
    "$folder/mpm" doctor | tee "$out/doctor.txt"
    for step in "$@"; do
        case $step in
            suite | fixtures | model) "$step" ;;
            *) echo "bench/gpu/end_to_end.sh: unknown step $step" >&2; exit 2 ;;
        esac
    done
    return "$status"
}

case ${1:-} in
    pack) pack "${2:?folder}" "${3:-}" ;;
    run) : "${2:?folder}" "${3:?output of run.sh build}"; shift; run "$@" ;;
    *) sed -n '2,13s/^# *//p' "$0" >&2; exit 2 ;;
esac
