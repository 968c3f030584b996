#!/bin/sh
# check_library.sh PREFIX: checks that the installed library has the soname that the documents use, exports
# only its interface, exports all functions of the last release, and has a header that a C compiler accepts.
set -eu
prefix=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
library=$(find "$prefix" -name 'libmpm.so.0' | head -n 1)

fail() {
    echo "check_library: $1" >&2
    exit 1
}

[ -n "$library" ] || fail "no libmpm.so.0 under $prefix"
objdump -p "$library" | grep -q 'SONAME *libmpm\.so\.0$' || fail "the soname is not libmpm.so.0"
# libmpm.so is in the development package only.
documents=$(dirname "$0")/../../docs
! grep -rnE '(LD_PRELOAD=|CDLL\(")[a-z/]*libmpm\.so([^.]|$)' "$documents" || fail "documents load a name of the development package"
grep -rq 'LD_PRELOAD=libmpm\.so\.0 ' "$documents" || fail "no document preloads the library"
# The version script must hide all other symbols, such as templates of the standard library (weak symbols).
strange=$(nm -DC --defined-only "$library" | awk '
    $2 != "A" && $3 !~ /^(mpm::|mpm_)/ { print }
    $2 != "A" && $0 !~ /@@MPM_0$/ { print }')
[ -z "$strange" ] || fail "symbols that are not the interface:
$strange"
# Every function of the last release must exist, except functions whose names contain OpenCV's version.
nm -D --defined-only "$library" | sed 's/.* //; s/@@.*//' >"$scratch/functions"
find "$(dirname "$0")/../../mpm_layer/abi" -name '0.*.abi.gz' | sort -V | tail -n 1 | while IFS= read -r abi; do
    for function in $(gzip -dc "$abi" | sed -n "s/.*<elf-symbol name='\([^']*\)'.*/\1/p" | grep -v 'cv3dnn'); do
        grep -qx "$function" "$scratch/functions" || fail "$function of $(basename "$abi") is not exported any more"
    done
done
! objdump -p "$library" | grep 'NEEDED' | grep -iE 'qt|torch|highgui|protobuf|gomp' || fail "links what it must not"

echo '#include <mpm/mpm.h>' >"$scratch/header.c"
cc -std=c99 -Wall -Wextra -Werror -pedantic -I "$prefix/include" -c "$scratch/header.c" -o "$scratch/header.o"
echo "check_library: $(nm -D --defined-only "$library" | grep -c ' T ') functions, all of the interface"
