#!/bin/sh
# Adds token sharing (CTS) to the shipped model: trains a policy, fine-tunes the weights with sharing, exports both in
# the same file.
#   models/zoo/share_recipe.sh MPM_MODELS CAMVID OUT [SUPERPATCHES]
# Two CPU cores need about half an hour. Sharing in 120 of 300 superpatches saves 30 % of the tokens.
# Delete OUT to start again.
set -eu
models=$(command -v "$1") camvid=$(realpath "$2") out=$3 shared=${4:-120}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

[ -e "$out/policy.pt" ] || "$models" policy --data "$camvid" --out "$out/policy.pt" --share "$shared" --minutes 14 --steps 20000 \
    --rate 3e-3 --validate-every 100 --scene 0.35 --streets 120 --scale 0.75 1.3
"$models" import "$here/street-vit-tiny.onnx" "$out/street.pt" --quiet
OMP_NUM_THREADS=1 "$models" train --data "$camvid" --out "$out/run" --size 480 640 --from "$out/street.pt" \
    --policy "$out/policy.pt" --share "$shared" --seed 22 --minutes 12 --steps 100000 --batch 4 --crop 320 416 --scale 0.6 1.4 \
    --scene 0.7 --streets 60 --rate 4e-5 --matrix-rate 1.6e-4 --warm-up 10 --mean-decay 0.99 --class-power 0.1 --class-limit 3 \
    --validate-every 100000 --checkpoint-every 1000
"$models" mean "$out/street.pt" "$out/run/best.pt" --out "$out/share.pt"
"$models" export "$out/share.pt" "$out/street-share.onnx" --policy "$out/policy.pt" --share "$shared"
