#!/bin/sh
# Builds, checks and times libmpm_cuda on a machine with a GPU, nvcc and PyTorch; OpenCV is not needed.
#   bench/gpu/run.sh OUT [build|check|sanitize|time]...     default: build check time
# OUT gets the library, the logs and these tables:
#   check     parity.txt    maps and restored tokens against f64 PyTorch, per precision
#             smoke.txt     options, odd sizes, every way to queue and multiply; equal bits in 100 repeats and, with
#                           fixed kernels, in any batch
#   sanitize  sanitize.txt  compute-sanitizer memcheck and racecheck
#   time      times.txt     required values with pass or MISS: all tokens and merged against PyTorch, ToMe and ALGM; share
#                           of merge and restore; nearest pass; ragged against equal counts; latency of an image;
#                           memory; graphs, fixed kernels, two batches at a time; each kernel's share of the device's peak
# Everything takes a few minutes; `time` takes longest, mostly in torch.compile (MPM_SIZES=base shortens it).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:?usage: bench/gpu/run.sh OUT [build|check|sanitize|time]...}
shift
[ $# -gt 0 ] || set -- build check time
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$root"

# cuBLASLt is part of the toolkit. If the toolkit is minimal, cuBLASLt is in PyTorch's packages.
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
toolkit=$(cd "$(dirname "$nvcc")/.." && pwd)
packages=$(python3 -c 'import glob, os, nvidia; print(os.path.dirname(glob.glob(list(nvidia.__path__)[0] + "/*/include/cublasLt.h")[0]) + "/..")' 2>/dev/null || true)
includes="-I$root -I$toolkit/include"
libraries="-L$toolkit/lib64"
blas=$(find "$toolkit/lib64/" -name 'libcublasLt.so*' 2>/dev/null | head -n 1)
if [ -z "$blas" ] || [ ! -e "$toolkit/include/cublasLt.h" ]; then
    includes="$includes -I$packages/include"
    blas=$(find "$packages/lib/" -name 'libcublasLt.so*' | head -n 1)
fi
arch=${MPM_GPU_ARCH:-90}

build() {
    objects=$out/objects
    mkdir -p "$objects"
    pids=
    for source in mpm_layer/cuda/*.cpp mpm_layer/cuda/device/*.cpp mpm_layer/cuda/kernels/*.cu; do
        # shellcheck disable=SC2086
        "$nvcc" -std=c++17 -O3 -lineinfo -Xptxas -v -Xcompiler -fPIC,-fvisibility=hidden \
            -gencode "arch=compute_$arch,code=sm_$arch" $includes -c "$source" \
            -o "$objects/$(basename "$source").o" >"$objects/$(basename "$source").log" 2>&1 &
        pids="$pids $!"
    done
    for pid in $pids; do
        wait "$pid" || { cat "$objects"/*.log >&2; exit 1; }
    done
    # shellcheck disable=SC2086
    "$nvcc" -shared -cudart static $libraries "$objects"/*.o -Xlinker "$blas" \
        -Xlinker "-rpath=$(dirname "$blas")" -o "$out/libmpm_cuda.so"
    g++ -std=c++17 -O2 -I"$root" bench/gpu/smoke.cpp -o "$out/smoke" -ldl
    grep -h "spill" "$objects"/*.log | grep -v " 0 bytes spill stores" || echo "no kernel spills registers"
}

check() {
    "$out/smoke" "$out/libmpm_cuda.so" 100 | tee "$out/smoke.txt"
    python3 bench/gpu/bench.py parity "$out/libmpm_cuda.so" | tee "$out/parity.txt"
    # The status of a pipe is that of tee, so the printed text is checked.
    grep -q '^all good' "$out/smoke.txt" && grep -q '^all good' "$out/parity.txt"
}

sanitize() {
    sanitizer=$(command -v compute-sanitizer || echo "$toolkit/bin/compute-sanitizer")
    for tool in memcheck racecheck; do
        "$sanitizer" --tool "$tool" --error-exitcode 9 "$out/smoke" "$out/libmpm_cuda.so" 2 2>&1 |
            tail -n 6 | sed "s/^/$tool: /"
    done | tee "$out/sanitize.txt"
}

# Not named `time`, which is a word of the shell.
timings() {
    python3 bench/gpu/bench.py time "$out/libmpm_cuda.so" --sizes "${MPM_SIZES:-small,base,large}" | tee "$out/times.txt"
}

nvidia-smi --query-gpu=name,driver_version,clocks.sm --format=csv,noheader | tee "$out/device.txt"
for step in "$@"; do
    case $step in
        build | check | sanitize) "$step" ;;
        time) timings ;;
        *) echo "bench/gpu/run.sh: unknown step $step" >&2; exit 2 ;;
    esac
done
