#!/bin/sh
# Builds the layers, the converter, the pipeline and the command line for 64-bit Arm and runs their tests
# under qemu, or counts the instructions for an image. These tests are left out: tests that start a built
# program (only qemu can run it), tests of the sandbox (qemu lacks its system calls), a test with a time
# limit, and tests with models of real size (they take an hour).
#
#   tests/arm/run.sh [test|count] [CTEST-OPTION...]       e.g. tests/arm/run.sh test -R mpm_layer
#
# Needs root once, for the cross compiler and qemu. Debian's arm64 packages are unpacked, not installed, into build/arm64 or
# $MPM_ARM_ROOT; the build is in build/arm.
set -eu
tree=$(cd "$(dirname "$0")/../.." && pwd)
sysroot=${MPM_ARM_ROOT:-$tree/build/arm64}
build=$tree/build/arm
triplet=aarch64-linux-gnu
packages="libc6-dev libstdc++-12-dev libopencv-dev libhwy-dev libgtest-dev nlohmann-json3-dev libonnx-dev libprotobuf-dev
    libcli11-dev libjpeg-dev libfreetype-dev fonts-dejavu-core libsqlite3-dev libseccomp-dev"

install_tools() {
    command -v $triplet-g++ >/dev/null && command -v qemu-aarch64 >/dev/null && command -v protoc >/dev/null &&
        [ -e /usr/share/i18n/locales/de_DE ] && return 0
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends g++-$triplet qemu-user protobuf-compiler \
        locales
}

# apt with separate lists, cache and empty status, as on an arm64 machine without packages.
arm_apt() {
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$sysroot.apt/state" \
        -o Dir::State::status="$sysroot.apt/status" -o Dir::Cache="$sysroot.apt/cache" -o Debug::NoLocking=1 "$@"
}

make_sysroot() {
    [ "$(cat "$sysroot/.packages" 2>/dev/null)" != "$packages" ] || return 0
    mkdir -p "$sysroot.apt/state/lists/partial" "$sysroot.apt/cache/archives/partial" "$sysroot/usr/lib"
    : >"$sysroot.apt/status"
    arm_apt update
    # shellcheck disable=SC2086  # a list of words
    arm_apt install -y --no-install-recommends --download-only $packages
    # Makes the links of an installed system: /lib is /usr/lib, and BLAS and LAPACK are chosen.
    ln -sfn usr/lib "$sysroot/lib"
    for package in "$sysroot.apt"/cache/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$sysroot" --keep-directory-symlink
    done
    for library in blas/libblas lapack/liblapack; do
        ln -sf "$library.so.3" "$sysroot/usr/lib/$triplet/$(basename $library).so.3"
    done
    echo "$packages" >"$sysroot/.packages"
}

configure() {
    cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMPM_BUILD_TORCH=OFF -DMPM_BUILD_GUI=OFF \
        -DCMAKE_TOOLCHAIN_FILE="$tree/tests/arm/toolchain.cmake" -DMPM_ARM_SYSROOT="$sysroot" \
        -DPROTOBUF_PROTOC_EXECUTABLE="$(command -v protoc)" -DProtobuf_PROTOC_EXECUTABLE="$(command -v protoc)"
}

programs='^(test_cli|test_faults|mpm_test_contained|install_|check_|fuzz_driver_catches)'
cases='ChildProcess.*:SandboxTest.*:Text.IsDrawnWithoutAnyFontToo:*RealWidths*'
cases=$cases:HostileModels.ManyReferencesToOneLargeFunctionAreCounted

verb=${1:-test}
[ $# -eq 0 ] || shift
install_tools
make_sysroot
configure
cmake --build "$build"
case $verb in
test) GTEST_FILTER="-$cases" ctest --test-dir "$build" --output-on-failure --no-label-summary -LE '^(long|gpu)$' \
    --timeout 3600 -E "$programs" "$@" ;;
count)
    sh "$tree/tests/arm/count.sh" "$build" "$sysroot" f32
    for cpu in cortex-a76 max; do
        QEMU_CPU=$cpu sh "$tree/tests/arm/count.sh" "$build" "$sysroot" i8
    done
    ;;
*) echo "arm: '$verb' is not known: test or count" >&2; exit 2 ;;
esac
