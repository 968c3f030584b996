#!/bin/sh
# Trains and exports the shipped weights: the mean of the weights of the last three of eight runs. Takes about five hours on
# two CPU cores.
#   models/zoo/recipe.sh MPM_MODELS MPM CAMVID OUT
# If a run was stopped, the script continues the run when you start it again. The learning rates of run 3 and of runs 5
# to 8 fall with time (--minutes), so that these runs end in time on any machine. The training of the shipped weights
# differed in two points. In run 3, the share of built-in streets rose from 0.45 to 0.68 and then 0.75, and the last quarter
# used crops of 320x416. Run 4 was stopped at step 400, when the learning rate had fallen by half.
set -eu
models=$(realpath "$1") mpm=$(realpath "$2") camvid=$(realpath "$3") out=$4
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
export OMP_NUM_THREADS=1

# train_run NUMBER OPTION...
train_run() {
    number=$1
    shift
    "$models" train --data "$camvid" --out "$out/$number" "$@"
}

train_run 1 --size 352 480 --steps 2600 --scene 0.3 --matrix-rate 0 --overlap 0
train_run 2 --size 480 640 --from "$out/1/best.pt" --steps 1500 --scale 0.55 1.5 --scene 0.4 --streets 200 \
    --rate 5e-4 --warm-up 40 --mean-decay 0.996
train_run 3 --size 480 640 --from "$out/2/best.pt" --seed 2 --minutes 84 --steps 8000 --scale 0.55 1.5 --scene 0.68 --streets 480 \
    --rate 4e-4 --matrix-rate 1.6e-3 --warm-up 40 --validate-every 700
train_run 4 --size 480 640 --from "$out/3/best.pt" --seed 3 --steps 400 --batch 4 --crop 320 416 --scale 0.6 1.4 --scene 0.7 --streets 250 \
    --rate 8e-5 --matrix-rate 3.2e-4 --warm-up 20 --mean-decay 0.995 --class-power 0.1 --class-limit 3 --validate-every 400
# Runs 5 to 8 have a low learning rate and the sizes of run 4. They train tokens to be nearest to tokens of the same class.
# Runs 6 and 7 also merge tokens.
gentle() {
    number=$1 from=$2
    shift 2
    train_run "$number" --size 480 640 --from "$from" --steps 5000 --crop 320 416 --scale 0.6 1.4 --warm-up 20 --class-power 0.1 \
        --class-limit 3 --neighbours 2,5 "$@"
}
gentle 5 "$out/4/best.pt" --seed 11 --minutes 16 --batch 4 --scene 0.7 --streets 250 --rate 1.2e-4 --matrix-rate 5e-4 \
    --mean-decay 0.995 --neighbour-share 0.4
export OMP_NUM_THREADS=2  # with merging, the parts of a step run one after the other
gentle 6 "$out/5/best.pt" --seed 12 --minutes 27 --batch 3 --scene 0.7 --streets 250 --rate 1e-4 --matrix-rate 4e-4 \
    --mean-decay 0.995 --neighbour-share 1 --train-blocks 2,5
gentle 7 "$out/6/best.pt" --seed 13 --minutes 15 --batch 3 --scene 0.7 --streets 250 --rate 1.2e-4 --matrix-rate 5e-4 \
    --mean-decay 0.99 --neighbour-share 2 --train-blocks 2,5
export OMP_NUM_THREADS=1
"$models" mean "$out/6/best.pt" "$out/7/best.pt" --out "$out/6and7.pt"
gentle 8 "$out/6and7.pt" --seed 14 --minutes 10 --batch 4 --scene 0.9 --streets 480 --rate 1e-4 --matrix-rate 4e-4 \
    --mean-decay 0.99 --neighbour-share 1
"$models" mean "$out/6/best.pt" "$out/7/best.pt" "$out/8/best.pt" --out "$out/street.pt"
"$models" export "$out/street.pt" "$out/street.onnx" --fused
# Of the measured reducers, this reducer loses the least accuracy, at no lower speed (docs/reference/evaluation.md).
"$mpm" convert "$out/street.onnx" "$here/street-vit-tiny.onnx" --decoder merged \
    --method mpm:pairs=0.7,by=keys,mean=weighted,attention=proportional:1+3+5+7
