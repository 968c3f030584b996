#!/bin/sh
# run.sh TREE: tests the wheel of `./run wheel`. Checks the contents, then makes first calls in new
# environments: with each installed Python, with several versions of pip's cv2, and without cv2. Needs PyPI.
# Environments are kept in build/wheel/environments. MPM_REAL_PACKAGES is the site-packages of an environment
# with torch, timm, transformers, onnxruntime and openvino; by default, that of `./run exports`.
set -eu
tree=$(cd "$1" && pwd)
parts=$tree/build/wheel
wheel=$(ls "$tree"/dist/mpm_vit-*.whl)
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
sh "$tree/tests/wheel/symbols.sh" "$wheel" || exit 1
if strings "$library" | grep -F "$tree"; then fail "names a path of this machine"; fi
[ -n "$(find . -path '*.dist-info/licenses/LICENSE' -size +0)" ] || fail "has no licence"
bill=$(find . -path '*.dist-info/sboms/*.json')
names=$(sed -n 's/.*"name": "\(.*\)",/\1/p' "$bill" | grep -v mpm-vit)
if grep '"version": ""' "$bill"; then fail "names a library without its version"; fi
for name in $names; do
    ls mpm_vit-*.dist-info/licenses | grep -qix "LICENSE-$name.txt" || fail "has no licence of $name"
done
[ "$(ls mpm_vit-*.dist-info/licenses | wc -l)" = $(($(echo "$names" | wc -l) + 1)) ] || fail "lists other libraries than licences"
audit=$parts/environments/audit
[ -e "$audit/ready" ] || {
    python3 -m venv "$audit"
    "$audit/bin/pip" install --quiet auditwheel && touch "$audit/ready"
}
"$audit/bin/auditwheel" show "$wheel" | tr '\n' ' ' | grep -q 'following platform tag: "manylinux_2_35_x86_64"' ||
    fail "auditwheel gives another tag: $("$audit/bin/auditwheel" show "$wheel")"
cd "$scratch"

# try_in PYTHON NAME PACKAGE...: tries the wheel in an environment with these packages.
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

# If there is a build with Debian's Python, results must have the same bits as in this build.
if [ -e "$tree/build/release/python/mpm/libmpm_core.so" ]; then
    PYTHONPATH="$tree/build/release/python" /usr/bin/python3 "$tree/tests/wheel/first_call.py" "$scratch/reference.npz" ||
        fail "a first call fails in build/release"
fi
for version in 3.10 3.11 3.12 3.13 3.14; do
    "python$version" -c "" 2>/dev/null || continue
    try_in "python$version" none 'numpy>=2'
    try_in "python$version" cv48 'numpy==1.26.4' 'opencv-python-headless==4.8.1.78'
    try_in "python$version" cv410 'numpy>=2' 'opencv-python-headless==4.10.0.84'
    try_in "python$version" cv412 'numpy>=2' 'opencv-python-headless==4.12.0.88'
    try_in "python$version" cv414 'numpy>=2' 'opencv-python-headless==4.14.0.94'
    try_in "python$version" cv50 'numpy>=2' 'opencv-python-headless==5.0.0.93'
done
# Imports real packages before and after mpm.
packages=${MPM_REAL_PACKAGES:-$(ls -d "$tree"/build/exports/main/lib/python*/site-packages 2>/dev/null || true)}
python=$(basename "$(dirname "${packages:-/}")")
if [ -n "$packages" ] && [ -e "$parts/environments/$python-none" ]; then
    real=$parts/environments/$python-real
    [ -e "$real/ready" ] || {
        rm -rf "$real"
        "$python" -m venv "$real"
        "$real/bin/pip" install --quiet --only-binary :all: supervision pillow tqdm opencv-python-headless && touch "$real/ready"
    }
    "$real/bin/pip" install --quiet --force-reinstall --no-deps "$wheel"
    export MPM_PACKAGES="$packages"
    for order in mpm,cv2,torch,onnx,onnxruntime,openvino openvino,onnxruntime,onnx,torch,cv2,mpm; do
        "$real/bin/python" -I "$tree/tests/wheel/together.py" "$order" "$scratch/reference.npz" || fail "fails beside $order"
    done
    "$real/bin/python" -I "$tree/tests/wheel/real_packages.py" "$tree/build/release/tests/python/detector.onnx" ||
        fail "fails with real packages"
else
    echo "wheel: torch and others are not tried: ./run exports installs them"
fi
tiny=$tree/build/release/tests/python/tiny.onnx
if [ -e "$tiny" ]; then
    for beside in none cv50; do  # one Python is enough: all use the same library
        python=$(ls "$parts"/environments/*-$beside/bin/python | head -n 1)
        "$python" -I "$tree/tests/wheel/memory.py" "$tiny" || fail "memory grows with $python"
    done
else
    echo "wheel: memory is not measured: ./run test makes $tiny"
fi
echo "wheel: $(basename "$wheel") passed"
