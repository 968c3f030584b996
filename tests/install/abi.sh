#!/bin/sh
# abi.sh BUILD LIBRARY INSTALLED OPENCV: compares the binary interface of libmpm with that of the last
# release, with abidiff: programs that were linked with the last release must run with this library. New
# functions are allowed. Before the first release, the interface is compared with itself. The script also
# plants three differences, which abidiff must find. LIBRARY is the target mpm_abi of BUILD: the public
# functions with debug information. INSTALLED is the library.
#
#   abi.sh BUILD LIBRARY INSTALLED OPENCV --write      writes the dump of a release, mpm_layer/abi/VERSION.abi.gz
set -eu
library=$2 installed=$3
abi=$(cd "$(dirname "$0")/../../mpm_layer/abi" && pwd)
fail() {
    echo "abi: $1" >&2
    exit 1
}
command -v abidiff >/dev/null || { echo "abi: skipped: apt-get install abigail-tools" && exit 77; }
# The dump is from Debian 12. Names of functions with networks contain OpenCV's version, so the dump fits only 4.6.
case $4 in 4.6.*) ;; *) echo "abi: skipped: the dump is that of OpenCV 4.6, this is $4" && exit 77 ;; esac

cmake --build "$1" --target mpm_abi >/dev/null
# Without optimisation, the library also has functions of std that return our types (_ZSt...).
[ "$(nm -D --defined-only "$library" | sed 's/.* //' | grep -v '^_ZSt' | sort)" = "$(nm -D --defined-only "$installed" | sed 's/.* //' | sort)" ] ||
    fail "MPM_PUBLIC_FILES of tests/install/CMakeLists.txt does not have the functions that the library exports"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
abidw --suppressions "$abi/public.ini" --exported-interfaces-only --no-show-locs --no-parameter-names --no-elf-needed \
    --no-corpus-path --no-comp-dir-path --no-architecture --out-file "$scratch/now.abi" "$library"
root=$(cd "$abi/../.." && pwd)
sed -i "s|path='$root/|path='|" "$scratch/now.abi"  # removes the path of this machine
if [ "${5:-}" = --write ]; then
    version=$(sed -n 's/^project(mpm VERSION \([0-9.]*\).*/\1/p' "$abi/../../CMakeLists.txt")
    gzip -9nc "$scratch/now.abi" >"$abi/$version.abi.gz"
    exit
fi

# Finds the release of this soname with the highest version.
dump=$(find "$abi" -name '0.*.abi.gz' | sort -V | tail -n 1)
release=$scratch/$(basename "${dump:-first.abi.gz}" .gz)
if [ -n "$dump" ]; then gzip -dc "$dump" >"$release"; else cp "$scratch/now.abi" "$release"; fi
same() {
    abidiff --no-added-syms "$1" "$scratch/now.abi" >"$scratch/report" 2>&1 &&
        /usr/bin/python3 "$(dirname "$0")/abi_layout.py" "$1" "$scratch/now.abi" >>"$scratch/report" 2>&1
}
same "$release" || fail "differs from $(basename "$release"): raise the soname, or keep the old interface:
$(cat "$scratch/report")"
types=$(cat "$scratch/report")
# abidiff must find a larger struct, an enumerator with another value, and a missing function.
plant() { sed "$2" "$release" >"$scratch/$1.abi"; }
plant larger "s/\(<class-decl name='ImageReport' size-in-bits='\)/\11/"
plant value "s/\(<enumerator name='BF16' value='\)/\11/"
plant renamed "s/mpm_set_reuse/mpm_set_reuse_once/g"
for planted in larger value renamed; do
    ! cmp -s "$release" "$scratch/$planted.abi" || fail "nothing was planted in $planted.abi"
    ! same "$scratch/$planted.abi" || fail "$planted.abi was not found to differ"
done
echo "abi: the interface is that of $(basename "$release"): $(grep -c '<elf-symbol' "$release") functions, $types"
