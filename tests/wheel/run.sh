#!/bin/sh
# run.sh TREE: the wheel of `./run wheel`: its contents, then first calls in fresh environments, with each Python at hand, beside
# pip's cv2 of several versions and without any. Needs PyPI. Environments are kept in build/wheel/environments.
set -eu
tree=$(cd "$1" && pwd)
parts=$tree/build/wheel
wheel=$(ls "$parts"/mpm_vit-*.whl)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
    echo "wheel: $*" >&2
    exit 1
}

case $wheel in *-py3-none-manylinux_2_35_x86_64.whl) ;; *) fail "the tag is that of $wheel" ;; esac
[ "$(stat -c %s "$wheel")" -le 40000000 ] || fail "larger than 40 MB"
python3 -m zipfile -e "$wheel" "$scratch/content"
cd "$scratch/content"
if find . -name '*.libs' | grep .; then fail "has libraries beside it"; fi
[ "$(find . -name '*.so' | wc -l)" = 1 ] || fail "has more than one library"
library=mpm/libmpm_core.so
others=$(nm -D --defined-only "$library" | awk '$3 !~ /^mpm_/ { print $3 }')
[ -z "$others" ] || fail "exports $others"
needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(lib(c|m|dl|pthread|gcc_s|stdc\+\+)\.so|ld-linux)' || true)
[ -z "$needed" ] || fail "needs $needed"
newest=$(objdump -T "$library" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
[ "$(printf '%s\nGLIBC_2.35\n' "$newest" | sort -V | tail -1)" = GLIBC_2.35 ] || fail "needs $newest"
if strings "$library" | grep -F "$tree"; then fail "names a path of this machine"; fi
for file in LICENSE LICENSE-OpenCV.txt LICENSE-3RD-PARTY.txt LICENSE-protobuf.txt; do
    [ -n "$(find . -path "*.dist-info/licenses/$file" -size +0)" ] || fail "has no $file"
done
cd "$scratch"

# try_in PYTHON NAME PACKAGE...
try_in() {
    python=$1 environment=$parts/environments/$1-$2
    shift 2
    [ -e "$environment/ready" ] || {
        rm -rf "$environment"
        "$python" -m venv "$environment"
        "$environment/bin/pip" install --quiet --only-binary :all: "$@" || { echo "wheel: skipped: $python with $*"; return 0; }
        touch "$environment/ready"
    }
    "$environment/bin/pip" install --quiet --force-reinstall --no-deps "$wheel"
    "$environment/bin/python" -I "$tree/tests/wheel/first_call.py" "$scratch/reference.npz" ||
        fail "a first call fails in $environment"
    rm -rf "$scratch/o"
    "$environment/bin/mpm" run demo --duration 5 --out "$scratch/o" >/dev/null 2>&1 || fail "mpm run fails in $environment"
    ls "$scratch/o"/*.overlay.png >/dev/null || fail "mpm run writes no overlay in $environment"
    "$environment/bin/mpm" doctor >/dev/null || fail "mpm doctor fails in $environment"
    "$environment/bin/mpm" run default demo --show >"$scratch/show" 2>&1 && fail "--show works in $environment"
    grep -q "no window" "$scratch/show" || fail "--show does not say why it cannot: $(cat "$scratch/show")"
}

for version in 3.10 3.11 3.12 3.13 3.14; do
    "python$version" -c "" 2>/dev/null || continue
    try_in "python$version" none 'numpy>=2'
    try_in "python$version" cv48 'numpy==1.26.4' 'opencv-python-headless==4.8.1.78'
    try_in "python$version" cv414 'numpy>=2' 'opencv-python-headless==4.14.0.94'
    try_in "python$version" cv50 'numpy>=2' 'opencv-python-headless==5.0.0.93'
done
tiny=$tree/build/release/tests/python/tiny.onnx
if [ -e "$tiny" ]; then
    for python in "$parts"/environments/*-none/bin/python "$parts"/environments/*-cv50/bin/python; do
        "$python" -I "$tree/tests/wheel/memory.py" "$tiny" || fail "memory grows with $python"
    done
else
    echo "wheel: memory is not measured: ./run test makes $tiny"
fi
echo "wheel: $(basename "$wheel") passed"
