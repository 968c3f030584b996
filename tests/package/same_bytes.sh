#!/bin/sh
# same_bytes.sh BUILD [--rebuild [CPACK-COMPONENT...]]: packs twice, with different folders, time zones,
# locales and umasks. The packages must have the same bytes. With --rebuild, the second packages come from a
# new build of the committed tree at another path (half an hour on two cores; if components are given, only
# their parts are built).
set -eu
build=$(cd "$1" && pwd)
tree=$(cd "$(dirname "$0")/../.." && pwd)
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. "$tree/tests/package/pack.sh"

rebuild() {
    mkdir "$scratch/another tree"
    git -C "$tree" archive HEAD | tar -x -C "$scratch/another tree"
    parts=
    for part in CLI GUI TORCH PYTHON GSTREAMER TESTS; do parts="$parts -DMPM_BUILD_$part=OFF"; done
    [ $# -gt 0 ] || parts=-DMPM_BUILD_TESTS=OFF
    unity=$(sed -n 's/^CMAKE_UNITY_BUILD:[A-Z]*=//p' "$build/CMakeCache.txt")  # changes the bytes
    # shellcheck disable=SC2086  # a list of words
    (cd "$scratch/another tree" && cmake -S . -B folder -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD="${unity:-OFF}" $parts &&
        CCACHE_DISABLE=1 cmake --build folder) >"$scratch/log" 2>&1 || { tail -n 20 "$scratch/log" >&2 && exit 1; }
}

second=$build
if [ "${1:-}" = --rebuild ]; then
    shift
    rebuild "$@"
    second="$scratch/another tree/folder"
fi
components=$(echo "$*" | tr ' ' ';')
pack "$build" "$scratch/first" "$components"
(umask 077 && export TZ=Asia/Tokyo LC_ALL=C && pack "$second" "$scratch/second" "$components")
count=0
for deb in "$scratch"/first/*.deb; do
    cmp "$deb" "$scratch/second/${deb##*/}" || { echo "same_bytes: ${deb##*/} differs" >&2 && exit 1; }
    count=$((count + 1))
done
[ $count -gt 0 ] || { echo "same_bytes: no packages" >&2 && exit 1; }
echo "same_bytes: $count packages have the same bytes"
