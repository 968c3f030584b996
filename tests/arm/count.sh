#!/bin/sh
# Counts instructions for an image on 64-bit Arm with 1 thread: half the difference between 3 images and 1.
#   count.sh BUILD_FOLDER SYSROOT [PRECISION [MODEL]]     f32 or i8
#
# QEMU_CPU selects the processor: cortex-a72, cortex-a76 (has `sdot`), max (also has `smmla`).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1 sysroot=$2 precision=${3:-f32} model=${4:-$here/../../models/zoo/street-vit-tiny.onnx}
cc -O2 -shared -fPIC -o "$build/instructions.so" "$here/instructions.c"

image=$here/../../docs/images/street.jpg

# instructions_of BLOCKS IMAGE...
instructions_of() {
    blocks=$1
    shift
    rm -rf "$build/counted"
    MPM_METHOD=mpm qemu-aarch64 -L "$sysroot" -plugin "$build/instructions.so" "$build/cli/mpm" run "$model" "$@" \
        --threads 1 --precision "$precision" --blocks "$blocks" --save csv --out "$build/counted" 2>&1 >/dev/null | sed -n 's/^instructions: //p'
}

for blocks in none 2,5; do
    one=$(instructions_of $blocks "$image")
    three=$(instructions_of $blocks "$image" "$image" "$image")
    [ -n "$one" ] && [ -n "$three" ] || { echo "count: $build/cli/mpm does not run" >&2; exit 1; }
    echo "$precision, ${QEMU_CPU:-max}, blocks $blocks: $(((three - one) / 2000000)) million instructions an image"
done
