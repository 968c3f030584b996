#!/bin/sh
# Builds and tests the layers, the converter and the pipeline with OpenCV versions that Debian 12 does not have:
#   4.10 (Debian 13) and 5.0 (sid + experimental), the latter on the classic and on the new engine.
#
#   tests/matrix/run.sh [4.10|5.0]... [-- CTEST-OPTION...]      e.g. tests/matrix/run.sh 5.0 -- -R mpm_layer
#
# If MPM_EXPORTS_DIR is set (tests/models/onnx/make_exports.py), also converts and runs every export in this
# folder. Needs root, debootstrap and a package mirror. The script makes each system once, under build/roots
# or $MPM_ROOTS. A system keeps its build folder and ccache between runs. A run begins with a copy of the
# sources, so the tree may be edited during the run.
set -eu
tree=$(cd "$(dirname "$0")/../.." && pwd)
roots=${MPM_ROOTS:-$tree/build/roots}
mirror=${MPM_MIRROR:-http://deb.debian.org/debian}
packages="g++ cmake ninja-build ccache pkgconf libhwy-dev libgtest-dev libonnx-dev libprotobuf-dev protobuf-compiler
    nlohmann-json3-dev libcli11-dev libjpeg-dev libfreetype-dev fonts-dejavu-core libsqlite3-dev libseccomp-dev
    locales mypy"

# in_root ROOT COMMAND...
in_root() {
    root=$1
    shift
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive CCACHE_DIR=/ccache "$@"
}

# make_root SUITE: makes the system if it does not exist. For sid, OpenCV comes from experimental.
make_root() {
    root=$roots/$1
    if [ ! -e "$root/.bootstrapped" ] && ! in_root "$root" true 2>/dev/null; then
        mkdir -p "$roots"
        debootstrap --variant=minbase "$1" "$root" "$mirror"
        touch "$root/.bootstrapped"
    fi
    in_root "$root" dpkg-query -s $packages libopencv-dev python3-opencv >/dev/null 2>&1 && return 0
    from=""
    if [ "$1" = sid ]; then
        echo "deb $mirror experimental main" >"$root/etc/apt/sources.list.d/experimental.list"
        from="-t experimental"
    fi
    in_root "$root" apt-get -q -o Acquire::Check-Valid-Until=false update
    # shellcheck disable=SC2086  # both are lists of words
    in_root "$root" apt-get -q -y --no-install-recommends install $packages
    # shellcheck disable=SC2086
    in_root "$root" apt-get -q -y --no-install-recommends $from install libopencv-dev python3-opencv
}

# bring_tree ROOT: copies the sources, and mounts the fixtures beside them, as the tests expect. A changed
# file gets the present time instead of its own time, which may be before the last build. The mounts end with
# this process's namespace.
bring_tree() {
    rm -rf "$1/src/new"
    mkdir -p "$1/src/new" "$1/src/mpm" "$1/src/shared" "$1/build" "$1/ccache"
    git -C "$tree" ls-files -z --cached --others --exclude-standard |
        tar -C "$tree" --null --ignore-failed-read -T - -c | tar -C "$1/src/new" -x
    (cd "$1/src/mpm" && find . -type f) | while IFS= read -r file; do
        [ -e "$1/src/new/$file" ] || rm "$1/src/mpm/$file"
    done
    (cd "$1/src/new" && find . -type f) | while IFS= read -r file; do
        cmp -s "$1/src/new/$file" "$1/src/mpm/$file" && continue
        mkdir -p "$(dirname "$1/src/mpm/$file")"
        cp "$1/src/new/$file" "$1/src/mpm/$file"
        [ ! -x "$1/src/new/$file" ] || chmod +x "$1/src/mpm/$file"
    done
    rm -rf "$1/src/new"
    [ ! -d "$tree/../shared" ] || mount --bind "$tree/../shared" "$1/src/shared"
    if [ -n "${MPM_EXPORTS_DIR:-}" ]; then
        mkdir -p "$1/src/exports"
        mount --bind "$MPM_EXPORTS_DIR" "$1/src/exports"
    fi
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
}

build() {
    # GCC 16 wrongly reports overflows in OpenCV 5's headers.
    in_root "$1" cmake -S /src/mpm -B /build/mpm -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_UNITY_BUILD=ON -DMPM_BUILD_TORCH=OFF -DMPM_BUILD_GUI=OFF -DCMAKE_CXX_FLAGS=-Wno-stringop-overflow &&
        in_root "$1" cmake --build /build/mpm -j "${MPM_JOBS:-$(nproc)}" -- -k 0  # reports all errors
}

# check ROOT ENGINE CTEST-OPTION...: runs the tests. In OpenCV 5, ENGINE overrides the program's choice.
check() {
    root=$1 engine=$2
    shift 2
    in_root "$root" OPENCV_FORCE_DNN_ENGINE="$engine" ${MPM_EXPORTS_DIR:+MPM_EXPORTS_DIR=/src/exports} \
        ctest --test-dir /build/mpm --output-on-failure --no-label-summary -LE '^(long|gpu)$' "$@"
}

if [ -z "${MPM_MATRIX_INSIDE:-}" ]; then
    MPM_MATRIX_INSIDE=1 exec unshare --mount sh "$0" "$@"
fi

versions=""
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    versions="$versions $1"
    shift
done
[ $# -eq 0 ] || shift

status=0
for version in ${versions:-4.10 5.0}; do
    case $version in
    4.10) suite=trixie engines="classic:1" ;;
    5.0) suite=sid engines="classic:1 new:2" ;;
    *) echo "matrix: unknown version '$version': use 4.10 or 5.0" >&2; exit 2 ;;
    esac
    make_root $suite
    bring_tree "$roots/$suite"
    build "$roots/$suite" || { echo "matrix: OpenCV $version: does not build" >&2; status=1; continue; }
    for engine in $engines; do
        echo "matrix: OpenCV $version, ${engine%:*} engine"
        check "$roots/$suite" "${engine#*:}" "$@" || { echo "matrix: OpenCV $version, ${engine%:*}: failed" >&2; status=1; }
    done
done
exit $status
