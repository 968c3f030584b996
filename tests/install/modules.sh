#!/bin/sh
# modules.sh BUILD PYTHON: installs into several prefixes. Python must find the package, and GStreamer the
# plugin: at once, or with the variables that the installation prints. Both must find the shipped model.
set -eu
build=$1 python=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset PYTHONPATH GST_PLUGIN_PATH MPM_MODELS XDG_DATA_HOME XDG_DATA_DIRS
export HOME="$scratch/home" GST_REGISTRY="$scratch/registry.bin"

fail() {
    echo "modules: $1" >&2
    exit 1
}

# put PREFIX COMPONENT...: installs the components.
put() {
    to=$1
    shift
    for component; do
        cmake --install "$build" --prefix "$to" --component "$component" || fail "cannot install $component"
    done >"$scratch/log"
}

# For prefixes of the system, only checks that Python searches the folder of the package.
for prefix in /usr /usr/local; do
    export DESTDIR="$scratch/system"
    rm -rf "$DESTDIR"
    put $prefix python
    package=$(cd "$DESTDIR" && find . -name __init__.py)
    folder=${package%/mpm/__init__.py}
    "$python" -E -c "import sys; sys.exit('${folder#.}' not in sys.path)" || fail "Python does not search ${folder#.}"
    unset DESTDIR
done

works() {
    model=$("$python" -c 'import mpm; print(mpm.Model().path)') || fail "Python does not find the package or the model in $1"
    [ "$model" = "$1/share/mpm/street-vit-tiny.onnx" ] || fail "in $1 Python takes $model"
    rm -f "$GST_REGISTRY"
    gst-launch-1.0 -q videotestsrc num-buffers=1 ! videoconvert ! mpmsegment ! fakesink ||
        fail "GStreamer does not find the plugin or the model in $1"
}
put "$HOME/.local" tools python gstreamer
works "$HOME/.local"
rm -rf "$HOME"
put "$scratch/opt" tools python gstreamer
sed -n 's/.*: export/export/p' "$scratch/log" >"$scratch/variables"
. "$scratch/variables"
works "$scratch/opt"
echo "modules: found below /usr, /usr/local, ~/.local and, with the printed variables, elsewhere"
