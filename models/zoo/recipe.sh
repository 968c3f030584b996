#!/bin/sh
# Trains and exports the shipped weights: four goes on two CPU cores, some four hours.
#   models/zoo/recipe.sh MPM_MODELS CAMVID OUT
# Each go may be stopped and started again. The third one's rate falls with time (--minutes), so that it ends where the machine
# can take it; the shipped run raised its share of built-in streets from 0.45 over 0.68 to 0.75 on the way, and had its last quarter in
# crops of 320x416. Its fourth go was stopped at step 400, the rate half down.
set -eu
models=$(realpath "$1") camvid=$(realpath "$2") out=$3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
export OMP_NUM_THREADS=1

# go NUMBER OPTION...
go() {
    number=$1
    shift
    "$models" train --data "$camvid" --out "$out/$number" "$@"
}

go 1 --size 352 480 --steps 2600 --scene 0.3 --matrix-rate 0 --overlap 0
go 2 --size 480 640 --from "$out/1/best.pt" --steps 1500 --scale 0.55 1.5 --scene 0.4 --streets 200 \
    --rate 5e-4 --warm-up 40 --mean-decay 0.996
go 3 --size 480 640 --from "$out/2/best.pt" --seed 2 --minutes 84 --steps 8000 --scale 0.55 1.5 --scene 0.68 --streets 480 \
    --rate 4e-4 --matrix-rate 1.6e-3 --warm-up 40 --validate-every 700
go 4 --size 480 640 --from "$out/3/best.pt" --seed 3 --steps 400 --batch 4 --crop 320 416 --scale 0.6 1.4 --scene 0.7 --streets 250 \
    --rate 8e-5 --matrix-rate 3.2e-4 --warm-up 20 --mean-decay 0.995 --class-power 0.1 --class-limit 3 --validate-every 400
"$models" export "$out/4/best.pt" "$here/street-vit-tiny.onnx" --fused
