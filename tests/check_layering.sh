#!/bin/sh
# Do the arrows between the rooms hold? Reads the #include and target_link_libraries lines of every room.
#   tests/check_layering.sh [ROOT]        checks the tree (default: this one)
#   tests/check_layering.sh --self-test   plants one violation of each kind in a copy and sees each caught
set -eu
here=$(cd "$(dirname "$0")" && pwd)
rooms="base mpm_layer street pipeline models cli gui"

# Exit status 1 and one line per violation: FILE:LINE: what points where.
check() {
    (cd "$1" && find $rooms -type f \( -name '*.hpp' -o -name '*.h' -o -name '*.cpp' \
        -o -name '*.cu' -o -name '*.cuh' -o -name CMakeLists.txt \) | sort | xargs awk -f "$here/layering.awk")
}

# plant FILE LINE: the line, added to a fresh copy, must be reported for that very file.
plant() {
    copy=$scratch/copy
    rm -rf "$copy"
    mkdir -p "$copy"
    for room in $rooms; do
        cp -R "$here/../$room" "$copy/$room"
    done
    mkdir -p "$(dirname "$copy/$1")"
    printf '%s\n' "$2" >>"$copy/$1"
    if check "$copy" >"$scratch/found" 2>&1 || ! grep -q "^$1:" "$scratch/found"; then
        echo "check_layering: not caught: '$2' in $1" >&2
        exit 1
    fi
    planted=$((planted + 1))
}

self_test() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    planted=0
    plant base/planted.hpp '#include "mpm_layer/merge/tokens.hpp"'
    plant mpm_layer/merge/planted.hpp '#include "pipeline/draw/draw.hpp"'
    plant mpm_layer/merge/planted.cpp '#include <opencv2/dnn.hpp>'
    plant mpm_layer/encoder/planted.cpp '#include "mpm_layer/dnn/layers.hpp"'
    plant mpm_layer/planted.cpp '#include "models/onnx/convert.hpp"'
    plant mpm_layer/planted.cpp '#include <QString>'
    plant mpm_layer/CMakeLists.txt 'target_link_libraries(mpm PRIVATE mpm_pipeline_draw)'
    plant street/planted.cpp '#include "pipeline/dataset/dataset.hpp"'
    plant street/layout/planted.cpp '#include "street/render/gbuffer.hpp"'
    plant street/actors/planted.cpp '#include "street/street.hpp"'
    plant street/CMakeLists.txt 'target_link_libraries(mpm_street PRIVATE mpm_pipeline_dataset)'
    plant pipeline/draw/planted.cpp '#include "models/onnx/convert.hpp"'
    plant pipeline/draw/planted.cpp '#include <opencv2/highgui.hpp>'
    plant pipeline/draw/planted.cpp '#  include <torch/torch.h>'
    plant pipeline/draw/CMakeLists.txt 'target_link_libraries(mpm_pipeline_draw PUBLIC
  mpm_onnx)'
    plant pipeline/draw/planted.hpp '#include "mpm_layer/merge/map.hpp"'
    plant models/onnx/planted.cpp '#include "pipeline/draw/draw.hpp"'
    plant models/onnx/ir/planted.hpp '#include "models/onnx/eval/evaluate.hpp"'
    plant models/onnx/io/planted.cpp '#include "models/onnx/eval/shapes.hpp"'
    plant models/onnx/eval/planted.cpp '#include "models/onnx/io/read.hpp"'
    plant models/onnx/match/planted.cpp '#include "models/onnx/options.hpp"'
    plant models/onnx/fused/planted.cpp '#include "models/onnx/layers/standardise.hpp"'
    plant models/onnx/layers/planted.cpp '#include "models/onnx/fused/lower.hpp"'
    plant models/onnx/verify/planted.cpp '#include "models/onnx/match/match.hpp"'
    plant models/onnx/eval/CMakeLists.txt 'target_link_libraries(mpm_onnx_eval PUBLIC mpm_onnx_match)'
    plant cli/planted.cpp '#include "models/onnx/match/match.hpp"'
    plant gui/planted.cpp '#include "models/onnx/io/read.hpp"'
    plant models/torch/export/planted.cpp '#include "models/onnx/eval/evaluate.hpp"'
    plant models/torch/files/planted.cpp '#include "models/torch/model/segmenter.hpp"'
    plant models/torch/model/planted.cpp '#include "models/torch/data/batches.hpp"'
    plant models/torch/data/planted.cpp '#include "models/torch/train/train.hpp"'
    plant models/torch/train/planted.cpp '#include "pipeline/store/store.hpp"'
    plant models/torch/import/planted.cpp '#include "models/torch/train/checkpoint.hpp"'
    plant models/torch/export/planted.cpp '#include "models/torch/import/weights.hpp"'
    plant models/torch/commands/planted.cpp '#include "pipeline/segment/segmenter.hpp"'
    plant models/torch/CMakeLists.txt 'target_link_libraries(mpm_torch PUBLIC mpm_pipeline_daynight)'
    plant cli/planted.cpp '#include "gui/window.hpp"'
    plant cli/planted.cpp '#include "onnx/onnx_pb.h"'
    plant cli/CMakeLists.txt 'target_link_libraries(mpm_cli PRIVATE Qt6::Core)'
    plant gui/planted.cpp '#include "cli/verb.hpp"'
    plant gui/CMakeLists.txt 'target_link_libraries(mpm_gui PRIVATE opencv_highgui)'
    plant gui/CMakeLists.txt 'target_link_libraries(mpm_gui PRIVATE mpm_torch)'
    echo "check_layering: $planted planted violations, all caught"
}

if [ "${1:-}" = --self-test ]; then
    self_test
else
    check "${1:-$here/..}"
    echo "check_layering: the arrows hold"
fi
