#!/bin/sh
# Our encoder beside ONNX Runtime on the same exports, in turn, several rounds; prints medians and their ratio.
#   compare.sh MPM_PROGRAM WORK_DIR [ROUNDS]
# WORK_DIR keeps models and node_modules. Needs node, npm and python3-torch.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mpm=$(realpath "$1") work=$2 rounds=${3:-5}
mkdir -p "$work"
cd "$work"
[ -d node_modules/onnxruntime-node ] || npm install --silent --ignore-scripts onnxruntime-node
[ -f segmenter-t.onnx ] || /usr/bin/python3 "$here/make_models.py" .

# median_of JSON-FILE EXPRESSION: the median over all lines
median_of() {
    node -e 'const fs=require("fs");const v=fs.readFileSync(process.argv[1],"utf8").trim().split("\n").map(l=>eval("(r=>"+process.argv[2]+")")(JSON.parse(l))).sort((a,b)=>a-b);console.log(v[Math.floor(v.length/2)].toFixed(2))' "$1" "$2"
}

runtime=$(node -p 'require("onnxruntime-node/package.json").version')
features=$(grep -ow 'avx2\|avx512f\|avx512_bf16\|amx_bf16\|asimd' /proc/cpuinfo | sort -u | xargs)
echo "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | sort -u) ($features), $(nproc) cores, $(uname -sm), $("$mpm" --version),"
echo "ONNX Runtime $runtime, 2 threads each, 512x512, batch 1, medians of $rounds rounds in turn; x: its time over ours"
echo
echo "| model | ONNX Runtime f32 | all tokens f32 | merged f32 | all tokens bf16 | merged bf16 |"
echo "|---|---|---|---|---|---|"
for model in vit-t vit-s vit-b segmenter-t; do
    output=logits
    [ $model = segmenter-t ] && output=labels
    [ -f $model.mpm.onnx ] || "$mpm" convert $model.onnx $model.mpm.onnx --output $output >/dev/null
    rm -f $model.*.json
    for round in $(seq "$rounds"); do
        node "$here/onnxruntime.mjs" $model.onnx 2 10 >>$model.peer.json
        for precision in f32 bf16; do
            "$mpm" bench $model.mpm.onnx --compare none,mpm --precision $precision --rounds 10 --threads 2 \
                --json round.json >/dev/null 2>&1
            node -e 'console.log(JSON.stringify(JSON.parse(require("fs").readFileSync("round.json"))))' >>$model.$precision.json
        done
    done
    peer=$(median_of $model.peer.json r.ms.median)
    line="| $model | $peer ms"
    for precision in f32 bf16; do
        for row in 0 1; do
            ours=$(median_of $model.$precision.json "r.results[$row].ms.median")
            line="$line | $ours ms, $(node -p "($peer/$ours).toFixed(2)") x"
        done
    done
    echo "$line |"
done
