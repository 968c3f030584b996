#!/bin/sh
# Runs the commands of docs/guide against the built programs, in a scratch folder.
#   tests/guide.sh BUILD [--long]    blocks that begin with ```sh run, and the time of each; with --long also ```sh run long
#   tests/guide.sh --self-test       checks that a failing command is found
# A block with "file NAME" in the first line is written to NAME. Pages share the folder, in this order:
pages="start train convert eomt detector evaluate monitor program python gstreamer"
set -eu
here=$(cd "$(dirname "$0")" && pwd)

# extract PAGE LONG: writes the page's files to the current folder, and the runnable blocks to blocks/NUMBER.sh.
extract() {
    rm -rf blocks
    mkdir blocks
    awk -v long="$2" '
        /^```/ && out != "" { close(out); out = ""; next }
        /^```sh run( long)?$/ && ($3 == "" || long) { out = sprintf("blocks/%03d.sh", ++blocks); print "# line " NR >out; next }
        /^```[a-z]+ file / { out = $3; printf "" >out; next }
        out != "" { print >out }' "$1"
}

# run_pages FOLDER LONG PAGE...: runs the blocks of each page in the current folder.
run_pages() {
    guide=$1 long=$2 count=0
    shift 2
    for page; do
        extract "$guide/$page.md" "$long"
        for block in blocks/*.sh; do
            [ -e "$block" ] || continue
            begin=$(date +%s%N)
            sh -eu "$block" >output 2>&1 </dev/null || {
                echo "guide: $page.md, $(sed -n '1s/# //p' "$block"): a command failed:" >&2
                cat "$block" output >&2
                return 1
            }
            tenths=$((($(date +%s%N) - begin) / 100000000))
            echo "$page.md, $(sed -n '1s/# //p' "$block"): $((tenths / 10)).$((tenths % 10)) s"
            count=$((count + 1))
        done
    done
    [ $count -gt 0 ] || { echo "guide: no commands found" >&2 && return 1; }
    echo "guide: $count blocks of commands ran"
}

self_test() {
    cd "$scratch"
    printf '%s\n' '```sh run' 'cat words' '```' '```text file words' 'some words' '```' '    false' '```' 'false' '```' >right.md
    printf '%s\n' '```sh run' 'true' 'false' 'true' '```' >wrong.md
    printf '%s\n' '```sh run long' 'false' '```' >long.md
    run_pages . "" right long | grep -q '^right.md, line 1: [0-9]*\.[0-9] s$' || { echo "guide: no times" >&2 && exit 1; }
    for page in wrong missing; do
        ! run_pages . "" $page 2>/dev/null || { echo "guide: $page.md did not fail" >&2 && exit 1; }
    done
    ! run_pages . 1 long 2>/dev/null || { echo "guide: a long block did not run" >&2 && exit 1; }
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ "$1" = --self-test ]; then
    self_test
    exit
fi
build=$(cd "$1" && pwd)
long=${2:+1}
# Keeps the user's settings and screen out of the test. Selects Debian's Python, because only it has OpenCV.
mkdir -m 700 "$scratch/home" "$scratch/home/mpm-examples"
export HOME="$scratch/home" XDG_RUNTIME_DIR="$scratch/home" QT_QPA_PLATFORM=offscreen
unset XDG_CONFIG_HOME XDG_DATA_HOME DISPLAY WAYLAND_DISPLAY
export PATH="$build/cli:$build/gui:$build/models/torch:/usr/bin:$PATH" LD_LIBRARY_PATH="$build/mpm_layer" PYTHONPATH="$build/python" GST_PLUGIN_PATH="$build/gstreamer" GST_REGISTRY="$scratch/registry.bin"
if [ -n "$long" ]; then
    cmake --install "$build" --prefix "$scratch/usr" >/dev/null
    export CMAKE_PREFIX_PATH="$scratch/usr"
fi
cd "$HOME/mpm-examples"
ln -s "$here/../docs" "$here/../models" .  # as in a clone
# shellcheck disable=SC2086  # a list of pages
run_pages "$here/../docs/guide" "$long" $pages
