# The allowed dependencies: may[FOLDER] lists the folders that FOLDER may include or link. For a file, the
# entry with the longest prefix of the path counts. A listed folder includes its subfolders; "=" in front
# excludes them. Folders outside mpm_layer use only the public header: "mpm" means <mpm/...> and the targets
# mpm::layer and mpm::layer_static. The header opencv.hpp, which handles the differences between OpenCV's
# versions, counts as a folder.
BEGIN {
    opencv = "mpm_layer/dnn/opencv.hpp"
    may["base"] = "base"
    may["mpm_layer"] = "base mpm mpm_layer"
    may["mpm_layer/merge"] = "base mpm mpm_layer/merge mpm_layer/kernels"
    may["mpm_layer/kernels"] = "base mpm_layer/kernels"
    may["mpm_layer/decoder"] = "base mpm_layer/decoder mpm_layer/kernels"
    may["mpm_layer/encoder"] = "base mpm mpm_layer/encoder mpm_layer/merge mpm_layer/kernels"
    may["mpm_layer/devices"] = may["mpm_layer/encoder"] " mpm_layer/cpu mpm_layer/cuda/loader"  # only this folder chooses a device
    may["mpm_layer/cpu"] = may["mpm_layer/encoder"] " mpm_layer/cpu"
    may["mpm_layer/cuda"] = "base mpm_layer/cuda"  # loaded at run time, with a C interface
    may["mpm_layer/cuda/loader"] = may["mpm_layer/encoder"] " mpm_layer/cuda"
    may["street"] = "base street"
    may["street/layout"] = "base street/layout"
    may["street/actors"] = "base street/layout street/actors"
    may["street/render"] = "base street/layout street/actors street/render"
    may["pipeline"] = "base mpm street pipeline"
    may["pipeline/chart"] = "base pipeline/chart pipeline/draw"
    may["pipeline/measure"] = "base mpm street pipeline/dataset pipeline/metric pipeline/segment pipeline/measure"
    may["pipeline/segment"] = may["pipeline"] " " opencv
    may["pipeline/tune"] = may["pipeline/measure"] " pipeline/tune"
    may["pipeline/report"] = may["pipeline/tune"] " pipeline/report"
    may["models/onnx"] = "base mpm models/onnx"
    may["models/onnx/ir"] = "base models/onnx/ir"
    may["models/onnx/io"] = "base models/onnx/ir models/onnx/io"
    may["models/onnx/eval"] = "base models/onnx/ir models/onnx/eval"
    may["models/onnx/decoder"] = "base models/onnx/ir models/onnx/eval models/onnx/decoder"
    may["models/onnx/trace"] = "base models/onnx/ir models/onnx/eval models/onnx/trace"
    may["models/onnx/passes"] = "base models/onnx/ir models/onnx/eval models/onnx/passes"
    may["models/onnx/match"] = may["models/onnx/trace"] " models/onnx/decoder models/onnx/passes models/onnx/match"
    may["models/onnx/fused"] = "base models/onnx/ir models/onnx/eval models/onnx/trace models/onnx/match models/onnx/fused"
    may["models/onnx/layers"] = "base models/onnx/ir models/onnx/eval models/onnx/match models/onnx/layers"
    may["models/onnx/verify"] = "base mpm models/onnx/ir models/onnx/io models/onnx/eval models/onnx/verify " opencv
    may["models/torch"] = "base"
    may["models/torch/files"] = "base models/torch/files"  # reads files of weights without LibTorch
    may["models/torch/model"] = may["models/torch/files"] " models/torch/model"
    may["models/torch/data"] = may["models/torch/model"] " models/torch/data street pipeline/dataset"
    may["models/torch/train"] = may["models/torch/data"] " models/torch/train pipeline/chart pipeline/metric"
    may["models/torch/import"] = may["models/torch/model"] " models/torch/import"
    may["models/torch/export"] = may["models/torch/model"] " models/torch/export =models/onnx models/onnx/ir models/onnx/io mpm pipeline/dataset"
    may["models/torch/commands"] = may["models/torch/train"] " models/torch/import models/torch/export models/torch/commands"
    may["models/torch/CMakeLists.txt"] = may["models/torch/commands"] " =models/onnx mpm models/torch"
    may["cli"] = "base mpm =models/onnx models/onnx/io street pipeline cli " opencv
    may["cli/common"] = "base mpm =models/onnx models/onnx/io street pipeline cli/common"
    may["cli/run"] = may["cli/common"] " cli/run"
    may["cli/bench"] = may["cli/common"] " cli/bench"
    may["cli/eval"] = may["cli/common"] " cli/eval"
    may["cli/docs"] = "base mpm cli/common cli/docs"
    may["python"] = "base mpm =models/onnx models/onnx/ir models/onnx/io pipeline python " opencv
    may["gstreamer"] = "base mpm pipeline gstreamer"
    may["gui"] = "base mpm =models/onnx street pipeline gui"
    monitor = "base mpm street pipeline gui/text"
    may["gui/text"] = monitor
    may["gui/engine"] = monitor " gui/engine"
    may["gui/models"] = monitor " gui/engine gui/models"
    may["gui/services"] = monitor " =models/onnx gui/engine gui/services"
    may["gui/session"] = monitor " gui/engine gui/services gui/session"
    may["gui/headless"] = monitor " gui/engine gui/services gui/session gui/headless"
    may["gui/widgets"] = monitor " gui/widgets"
    may["gui/views"] = monitor " gui/engine gui/models gui/widgets gui/views"
    may["gui/charts"] = monitor " gui/engine gui/models gui/widgets gui/charts"
    may["gui/panels"] = monitor " gui/engine gui/models gui/widgets gui/panels"
    may["gui/dialogs"] = monitor " gui/engine gui/services gui/widgets gui/dialogs"
    may["gui/window"] = monitor " gui/engine gui/models gui/services gui/session gui/widgets gui/views gui/charts gui/panels gui/dialogs gui/window"

    # Libraries that only some folders ("rooms") may use. lib[NAME] matches the library's includes and
    # targets, home[NAME] lists the folders.
    lib["Qt"] = "(^|[^A-Za-z])(Q[A-Z][A-Za-z]*$|Qt[0-9A-Z][A-Za-z0-9]*(/|::))"
    home["Qt"] = "gui"
    lib["LibTorch"] = "^(torch|c10|ATen)/|^torch$|TORCH_LIBRARIES"
    home["LibTorch"] = "models/torch"
    lib["protobuf"] = "^(google/protobuf|onnx)/|^protobuf::|onnx_proto$|^onnx$|PROTOBUF"
    home["protobuf"] = "models"
    lib["highgui"] = "highgui"
    home["highgui"] = "cli"
    lib["cv::dnn"] = "opencv2/dnn"
    home["cv::dnn"] = "mpm_layer/dnn mpm_layer/interface mpm_layer/include mpm_layer/opencv_module pipeline models cli gui"
    lib["GStreamer"] = "^gst/|GST_VIDEO"
    home["GStreamer"] = "gstreamer"
}

function under(path, prefix) { return path == prefix || index(path, prefix "/") == 1 }

function underAny(path, list,    n, parts, i) {
    n = split(list, parts, " ")
    for (i = 1; i <= n; i++)
        if (path == substr(parts[i], 2) && parts[i] ~ /^=/ || under(path, parts[i])) return 1
    return 0
}

function ruleOf(path,    room, best) {
    best = ""
    for (room in may)
        if (under(path, room) && length(room) > length(best)) best = room
    return best
}

function complain(what) {
    printf "%s:%d: %s\n", FILENAME, FNR, what
    bad = 1
}

function visit(name, target,    l) {
    if (target != "" && !underAny(target, may[ruleOf(FILENAME)]))
        complain(ruleOf(FILENAME) " may not use " name " (allowed: " may[ruleOf(FILENAME)] ")")
    for (l in lib)
        if (name ~ lib[l] && !underAny(FILENAME, home[l]))
            complain(l " (" name ") belongs to: " home[l])
}

# Returns the folder of a linked target: mpm_pipeline_draw -> pipeline/draw, mpm_onnx_io -> models/onnx/io.
function roomOfTarget(name,    room) {
    if (name ~ /^mpm::layer(_static)?$|^mpm(_static)?$/) return "mpm"
    if (name ~ /^mpm_(onnx|torch)/ && name != "mpm_onnx_proto") {
        room = substr(name, 5)
        gsub(/_/, "/", room)
        return "models/" room
    }
    if (name == "mpm_warnings" || name !~ /^mpm_(base|layer|street|pipeline|models|cli|gui|python|gstreamer)/) return ""
    room = substr(name, 5)
    if (room ~ /^layer/) return "mpm_layer"
    sub(/_/, "/", room)
    return room
}

FILENAME !~ /CMakeLists\.txt$/ && /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    name = $0
    sub(/^[^<"]*[<"]/, "", name)
    sub(/[>"].*/, "", name)
    target = ""
    if (name ~ /^mpm\//) target = "mpm"
    else if (name ~ /^(base|mpm_layer|street|pipeline|models|cli|gui|python|gstreamer)\//) { target = name; if (name != opencv) sub(/\/[^\/]*$/, "", target) }
    visit(name, target)
}

FILENAME !~ /CMakeLists\.txt$/ && FILENAME != opencv && /getVersionM|CV_VERSION_M|^[ \t]*#[ \t]*(el)?if.*([^A-Z_]CV_|MPM_OPENCV_)/ {
    complain("what differs between OpenCV's versions belongs in " opencv)
}

FILENAME ~ /CMakeLists\.txt$/ {
    line = $0
    sub(/#.*/, "", line)
    if (line ~ /target_link_libraries[ \t]*\(/) {
        inside = 1
        sub(/.*target_link_libraries[ \t]*\([ \t]*[^ \t)]*/, "", line)
    }
    if (inside) {
        last = line ~ /\)/
        gsub(/[()"]/, " ", line)
        n = split(line, words, " ")
        for (i = 1; i <= n; i++) visit(words[i], roomOfTarget(words[i]))
        if (last) inside = 0
    }
}

END { exit bad }
