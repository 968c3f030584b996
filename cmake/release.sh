#!/bin/sh
# Writes a release of the committed tree to dist/, after the checks of release_checks.sh:
#   release.sh [PART...]      PART: check source bookworm trixie wheel sums image; default: all
#
#   mpm-VERSION.tar.gz                     the sources
#   debian12/, debian13/                   the Debian packages and their bill of materials
#   mpm_vit-VERSION-*.whl                  the wheel for pip
#   SHA256SUMS                             checksums of these files
# Builds everything twice, from copies of the commit at two paths; both builds must give the same bytes.
# MPM_RELEASE_ONCE=1 builds once. Builds the packages of this machine's Debian release here, and the packages
# of another release in a system that debootstrap makes under build/roots (or $MPM_ROOTS; needs root). Builds
# the image from dist/debian12 and a folder of Debian's packages, without a network.
set -eu
tree=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^project(mpm VERSION \([0-9.]*\).*/\1/p' "$tree/CMakeLists.txt")
dist=$tree/dist
roots=${MPM_ROOTS:-$tree/build/roots}
mirror=${MPM_MIRROR:-http://deb.debian.org/debian}
work=$tree/build/release_trees
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$tree/assets/debian/changelog" -S Timestamp)
export SOURCE_DATE_EPOCH MPM_CMAKE_OPTIONS=-DMPM_BUILD_TESTS=OFF
fail() {
    echo "release: $1" >&2
    exit 1
}

# copies FOLDER: writes the commit to FOLDER/first and to "FOLDER/second time", a longer path with a space.
copies() {
    for copy in first "${MPM_RELEASE_ONCE:-second time}"; do
        [ "$copy" != 1 ] || continue
        mkdir -p "$1/$copy"
        git -C "$tree" archive HEAD | tar -x -C "$1/$copy"
    done
}

# same FOLDER PATTERN: fails if a file that matches PATTERN differs between the two copies.
same() {
    [ -z "${MPM_RELEASE_ONCE:-}" ] || return 0
    for made in "$1/first"/$2; do
        cmp "$made" "$1/second time/${made#"$1/first/"}" || fail "$(basename "$made") differs from path to path"
    done
}

# each FOLDER COMMAND...: runs COMMAND in both copies. The first time, ccache must not make paths relative,
# because messages of assertions contain paths. The second time runs without ccache.
each() {
    folder=$1
    shift
    (cd "$folder/first" && CCACHE_BASEDIR="" "$@")
    [ -n "${MPM_RELEASE_ONCE:-}" ] || (cd "$folder/second time" && CCACHE_DISABLE=1 TZ=Asia/Tokyo "$@")
}

source_archive() {
    mkdir -p "$dist"
    git -C "$tree" archive --format=tar --prefix="mpm-$version/" HEAD | gzip -9n >"$dist/mpm-$version.tar.gz"
}

# suite NAME NUMBER: builds the packages of the Debian release NAME and copies them to dist/debianNUMBER.
suite() {
    (. /etc/os-release && [ "${VERSION_CODENAME:-}" = "$1" ]) && where=$work/$1 || where=$roots/$1-release/src
    if [ "$where" != "$work/$1" ]; then
        [ "$(id -u)" = 0 ] || fail "packages of $1 need root, for debootstrap"
        [ -e "$roots/$1-release/etc/debian_version" ] || debootstrap --variant=minbase "$1" "$roots/$1-release" "$mirror"
    fi
    rm -rf "$where"
    copies "$where"
    if [ "$where" = "$work/$1" ]; then
        each "$where" ./run package
    else
        unshare --mount sh -c 'mount -t proc proc "$1/proc" && shift && exec "$@"' sh "$roots/$1-release" \
            chroot "$roots/$1-release" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive MPM_CMAKE_OPTIONS="$MPM_CMAKE_OPTIONS" SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" ${MPM_RELEASE_ONCE:+MPM_RELEASE_ONCE=1} \
            ${CMAKE_BUILD_PARALLEL_LEVEL:+CMAKE_BUILD_PARALLEL_LEVEL="$CMAKE_BUILD_PARALLEL_LEVEL"} \
            sh -c 'cd /src/first && ./run package && { [ -n "${MPM_RELEASE_ONCE:-}" ] || { cd "/src/second time" && TZ=Asia/Tokyo ./run package; }; }'
    fi
    same "$where" 'build/packages/*.deb'
    rm -rf "$dist/debian$2"
    mkdir -p "$dist/debian$2"
    cp "$where"/first/build/packages/* "$dist/debian$2"
    [ -e "$dist/debian$2/mpm_$version.spdx.json" ] || fail "debian$2 has no bill of materials"
}

wheel() {
    rm -rf "$work/wheel"
    copies "$work/wheel"
    each "$work/wheel" ./run wheel
    found=$(find "$work/wheel/first/dist" "$work/wheel/first/build/wheel" -maxdepth 1 -name "mpm_vit-$version-*.whl" 2>/dev/null | head -n 1)
    [ -n "$found" ] || fail "./run wheel wrote no wheel of $version"
    same "$work/wheel" "${found#"$work/wheel/first/"}"
    python3 -m zipfile -l "$found" | grep -q '\.dist-info/sboms/' || fail "the wheel has no bill of materials"
    mkdir -p "$dist"
    cp "$found" "$dist"
}

sums() {
    (cd "$dist" && find . -type f ! -name 'SHA256SUMS*' | LC_ALL=C sort | sed 's|^\./||' | xargs sha256sum >SHA256SUMS)
    cat "$dist/SHA256SUMS"
}

cd "$tree"
for part in ${*:-check source bookworm trixie wheel sums image}; do
    echo "release: $part"
    case $part in
    check) sh cmake/release_checks.sh ;;
    source) source_archive ;;
    bookworm) suite bookworm 12 ;;
    trixie) suite trixie 13 ;;
    wheel) wheel ;;
    sums) sums ;;
    image) sh deploy/image.sh "$dist/debian12" ;;
    *) fail "unknown part '$part': use check source bookworm trixie wheel sums image" ;;
    esac
done
