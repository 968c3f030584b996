#!/bin/sh
# check_library.sh PREFIX: the installed library has its soname, exports only its own interface, and its C header is C.
set -eu
prefix=$1
library=$(find "$prefix" -name 'libmpm.so.0' | head -n 1)

fail() {
    echo "check_library: $1" >&2
    exit 1
}

[ -n "$library" ] || fail "no libmpm.so.0 under $prefix"
objdump -p "$library" | grep -q 'SONAME *libmpm\.so\.0$' || fail "the soname is not libmpm.so.0"
# Weak symbols are the standard library's templates, which every program shares.
strange=$(nm -DC --defined-only "$library" | awk '
    $2 ~ /[TDBR]/ && $3 !~ /^(mpm::|mpm_|__bss_start$|_edata$|_end$)/ { print }')
[ -z "$strange" ] || fail "symbols that are not the interface:
$strange"
! objdump -p "$library" | grep 'NEEDED' | grep -iE 'qt|torch|highgui|protobuf|gomp' || fail "links what it must not"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo '#include <mpm/mpm.h>' >"$scratch/header.c"
cc -std=c99 -Wall -Wextra -Werror -pedantic -I "$prefix/include" -c "$scratch/header.c" -o "$scratch/header.o"
echo "check_library: $(nm -D --defined-only "$library" | grep -c ' T ') functions, all of the interface"
