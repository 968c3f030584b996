#!/bin/sh
# Checks the allowed dependencies between folders. Reads the #include and target_link_libraries lines of every folder.
# Also checks that only one header tests the version or a feature of OpenCV.
#   tests/check_layering.sh [ROOT]        checks the tree (default: this tree)
#   tests/check_layering.sh --self-test   plants a violation of each kind in a copy and checks that each is found
set -eu
here=$(cd "$(dirname "$0")" && pwd)
rooms="base mpm_layer street pipeline models cli gui python gstreamer"

# check ROOT [FOLDER...]: exit status 1 and a line per violation: FILE:LINE: the two folders.
check() {
    (cd "$1" && shift && find ${*:-$rooms} -type f \( -name '*.hpp' -o -name '*.h' -o -name '*.cpp' \
        -o -name '*.cu' -o -name '*.cuh' -o -name CMakeLists.txt \) | sort | xargs awk -f "$here/layering.awk")
}

# check_folders ROOT: checks that no folder is too large, and that includes between folders have no cycle.
check_folders() {
    (cd "$1" && find . -type f \( -name '*.hpp' -o -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) |
        sed 's|^\./||' | grep -E "^($(echo $rooms | tr ' ' '|'))/" | sort |
        xargs awk -v most=30 -f "$here/folders.awk")
}

# plant FILE LINE: adds the line to a copy of FILE, or to a new file. check must report the line.
plant() {
    copy=$scratch/copy
    rm -rf "$copy"
    mkdir -p "$(dirname "$copy/$1")"
    [ ! -e "$here/../$1" ] || cp "$here/../$1" "$copy/$1"
    printf '%s\n' "$2" >>"$copy/$1"
    if check "$copy" "${1%%/*}" >"$scratch/found" 2>&1 || ! grep -q "^$1:" "$scratch/found"; then
        echo "check_layering: not caught: '$2' in $1" >&2
        exit 1
    fi
    planted=$((planted + 1))
}

# folders_caught WHAT: check_folders must report the tree in $scratch/folders.
folders_caught() {
    if check_folders "$scratch/folders" >"$scratch/found"; then
        echo "check_layering: not caught: $1" >&2
        exit 1
    fi
    planted=$((planted + 1))
}

folders_pass() {
    if ! check_folders "$scratch/folders"; then
        echo "check_layering: caught, but right: $1" >&2
        exit 1
    fi
    planted=$((planted + 1))
}

# includes FOLDER TARGET: adds a source to FOLDER that includes a header of TARGET.
includes() {
    mkdir -p "$scratch/folders/$1" "$scratch/folders/$2"
    echo "#include \"$2/a.hpp\"" >>"$scratch/folders/$1/a.cpp"
    echo "#pragma once" >>"$scratch/folders/$2/a.hpp"
}

self_test_folders() {
    mkdir -p "$scratch/folders/base/full"
    for i in 0 1 2; do
        for j in 0 1 2 3 4 5 6 7 8 9; do
            echo "// $i$j" >"$scratch/folders/base/full/$i$j.cpp"
        done
    done
    folders_pass "a folder of 30"
    echo "// 31" >"$scratch/folders/base/full/31.hpp"
    folders_caught "a folder of 31"
    rm "$scratch/folders/base/full/31.hpp"
    includes pipeline/a pipeline/b
    includes pipeline/b pipeline/c
    includes pipeline/a pipeline/c
    folders_pass "arrows one way"
    includes pipeline/c pipeline/a
    folders_caught "a cycle of three folders"
    rm "$scratch/folders/pipeline/c/a.cpp"
    includes pipeline/c/deep pipeline/c
    folders_pass "a folder above"
    includes pipeline/c pipeline/c/deep
    folders_caught "a folder and one inside it"
}

self_test() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    planted=0
    plant base/planted.hpp '#include "mpm_layer/merge/tokens.hpp"'
    plant mpm_layer/merge/planted.hpp '#include "pipeline/draw/draw.hpp"'
    plant mpm_layer/merge/planted.cpp '#include <opencv2/dnn.hpp>'
    plant mpm_layer/encoder/planted.cpp '#include "mpm_layer/dnn/layers.hpp"'
    plant mpm_layer/encoder/planted.cpp '#include "mpm_layer/cpu/cpu_backend.hpp"'
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
    plant pipeline/chart/planted.cpp '#include "pipeline/segment/network.hpp"'
    plant pipeline/measure/planted.cpp '#include "pipeline/source/source.hpp"'
    plant pipeline/measure/CMakeLists.txt 'target_link_libraries(mpm_pipeline_measure PRIVATE mpm_pipeline_store)'
    plant pipeline/report/planted.cpp '#include "pipeline/chart/canvas.hpp"'
    plant models/onnx/planted.cpp '#include "pipeline/draw/draw.hpp"'
    plant models/onnx/ir/planted.hpp '#include "models/onnx/eval/evaluate.hpp"'
    plant models/onnx/io/planted.cpp '#include "models/onnx/eval/shapes.hpp"'
    plant models/onnx/eval/planted.cpp '#include "models/onnx/io/read.hpp"'
    plant models/onnx/match/planted.cpp '#include "models/onnx/options.hpp"'
    plant models/onnx/fused/planted.cpp '#include "models/onnx/layers/standardise.hpp"'
    plant models/onnx/layers/planted.cpp '#include "models/onnx/fused/insert.hpp"'
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
    plant cli/common/planted.cpp '#include "cli/run/frame_files.hpp"'
    plant cli/run/planted.cpp '#include "cli/eval/options.hpp"'
    plant cli/bench/planted.cpp '#include "cli/eval/report.hpp"'
    plant cli/eval/planted.cpp '#include "cli/bench/report.hpp"'
    plant cli/docs/planted.cpp '#include "pipeline/source/source.hpp"'
    plant cli/planted.cpp '#include "onnx/onnx_pb.h"'
    plant cli/CMakeLists.txt 'target_link_libraries(mpm_cli PRIVATE Qt6::Core)'
    plant python/src/planted.cpp '#include "cli/common/files.hpp"'
    plant python/src/planted.cpp '#include "models/onnx/match/match.hpp"'
    plant gstreamer/planted.cpp '#include "models/onnx/convert.hpp"'
    plant pipeline/draw/planted.cpp '#include <gst/gst.h>'
    plant gui/planted.cpp '#include "cli/verb.hpp"'
    plant gui/CMakeLists.txt 'target_link_libraries(mpm_gui PRIVATE opencv_highgui)'
    plant gui/CMakeLists.txt 'target_link_libraries(mpm_gui PRIVATE mpm_torch)'
    plant gui/text/planted.cpp '#include "gui/engine/engine.hpp"'
    plant gui/engine/planted.cpp '#include "gui/services/services.hpp"'
    plant gui/models/planted.cpp '#include "gui/services/alert_center.hpp"'
    plant gui/services/planted.cpp '#include "gui/models/health_model.hpp"'
    plant gui/session/planted.cpp '#include "gui/widgets/theme.hpp"'
    plant gui/headless/planted.cpp '#include "gui/window/main_window.hpp"'
    plant gui/widgets/planted.cpp '#include "gui/models/health_model.hpp"'
    plant gui/views/planted.cpp '#include "gui/session/profile.hpp"'
    plant gui/charts/planted.cpp '#include "gui/views/view.hpp"'
    plant gui/panels/planted.cpp '#include "gui/charts/timeline_view.hpp"'
    plant gui/dialogs/planted.cpp '#include "gui/window/main_window.hpp"'
    plant gui/window/planted.cpp '#include "gui/headless/headless.hpp"'
    plant gui/views/planted.cpp '#include "models/onnx/convert.hpp"'
    plant pipeline/draw/planted.cpp '#include "mpm_layer/dnn/opencv.hpp"'
    plant pipeline/segment/planted.cpp '    if (cv::getVersionMajor() == 5) return;'
    plant models/onnx/verify/planted.cpp '#if CV_VERSION_MAJOR < 5'
    plant cli/planted.cpp '#  elif defined(CV_64S)'
    plant python/src/planted.cpp '#ifdef MPM_OPENCV_INT64'
    self_test_folders
    echo "check_layering: $planted planted violations, all caught"
}

if [ "${1:-}" = --self-test ]; then
    self_test
else
    check "${1:-$here/..}"
    check_folders "${1:-$here/..}"
    echo "check_layering: the arrows hold"
fi
