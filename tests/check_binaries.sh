#!/bin/sh
# Checks with readelf that every built program and library is hardened.
#   tests/check_binaries.sh BUILD       checks the folder BUILD and its installed files (in a scratch folder)
#   tests/check_binaries.sh --self-test plants a fault of each kind in a small program and checks that each is found
set -eu
export LC_ALL=C.UTF-8  # tools may translate the words that this script searches
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Prints every fault on a line.
fault() {
    echo "check_binaries: $1: $2"
}

# elves FOLDER: lists programs and shared libraries, but no object files and archives.
elves() {
    find "$1" -type f -size +0 ! -name '*.o' ! -name '*.a' ! -path '*/CMakeFiles/*' ! -path '*/tests/install/prefix/*' \
        ! -path '*/tests/install/consumer/*' \
        \( -perm -u+x -o -name '*.so*' \) | sort | while read -r file; do
        [ "$(head -c 4 "$file" | tail -c 3)" != ELF ] || printf '%s\n' "$file"
    done
}

# search_path FILE: prints the RUNPATH or RPATH, between brackets.
search_path() {
    readelf -dW "$1" | sed -n 's/.*(RU\{0,1\}N\{0,1\}PATH).*: \(\[.*\]\)$/\1/p'
}

# check_shape FILE: checks the addresses for loading, and which parts can be written or executed.
check_shape() {
    readelf -hldW "$1" >"$scratch/shape"
    grep -q 'Type: *DYN' "$scratch/shape" || fault "$1" "not position-independent (PIE)"
    grep -q 'GNU_RELRO' "$scratch/shape" || fault "$1" "no RELRO"
    grep -qE 'BIND_NOW|Flags:.* NOW' "$scratch/shape" || fault "$1" "symbols are bound late, so RELRO is partial"
    grep -q 'GNU_STACK' "$scratch/shape" || fault "$1" "does not say that its stack holds no code"
    ! grep -qE 'GNU_STACK.* RWE ' "$scratch/shape" || fault "$1" "its stack may hold code"
}

# check_search_path FILE: rejects empty and relative entries, because they depend on the current folder.
check_search_path() {
    path=$(search_path "$1" | tr -d '[]')
    [ -n "$path" ] || { [ -z "$(search_path "$1")" ] || fault "$1" "an empty RUNPATH"; return 0; }
    printf '%s:\n' "$path" | tr ':' '\n' | sed '$d' | while IFS= read -r entry; do
        case $entry in
        /* | \$ORIGIN | \$ORIGIN/*) ;;
        *) fault "$1" "RUNPATH '$path' has the entry '$entry', which depends on the current folder" ;;
        esac
    done
}

# check_calls FILE: checks that the compiler added run-time checks. With FORTIFY, a file that prints into a
# buffer calls functions like __printf_chk. If it calls only plain functions, it was built without FORTIFY.
check_calls() {
    nm -D --undefined-only "$1" 2>/dev/null | sed 's/.* //;s/@.*//' >"$scratch/calls"
    grep -qx '__stack_chk_fail' "$scratch/calls" || fault "$1" "no stack protector"
    plain=$(grep -xE 'v?(f|s|sn|d)?printf|v?asprintf|syslog' "$scratch/calls" | tr '\n' ' ')
    [ -z "$plain" ] || grep -qxE '__[a-z_]*[a-z]_chk' "$scratch/calls" ||
        fault "$1" "not built with FORTIFY: it calls ${plain% }"
}

# check_tree FOLDER: checks a build folder. Small tests may have no buffer to protect, so this checks compiler
# flags (compile_commands.json) instead of calls.
check_tree() {
    elves "$1" >"$scratch/files"
    [ -s "$scratch/files" ] || fault "$1" "no program in it"
    while read -r file; do
        check_shape "$file"
        check_search_path "$file"
    done <"$scratch/files"
    commands=$1/compile_commands.json
    [ -e "$commands" ] || { fault "$commands" "missing"; return 0; }
    for word in -fstack-protector-strong -D_FORTIFY_SOURCE=2 -D_GLIBCXX_ASSERTIONS '-fPI[CE]'; do
        without=$(grep '"command":' "$commands" | grep -cv -e "$word[ \"]" || true)
        [ "$without" = 0 ] || fault "$commands" "$without files are compiled without $word"
    done
}

# check_installed FOLDER PATH...: checks installed files, which must not contain a PATH of the build machine.
check_installed() {
    folder=$1
    shift
    elves "$folder" >"$scratch/files"
    [ -s "$scratch/files" ] || fault "$folder" "no program in it"
    while read -r file; do
        check_shape "$file"
        check_calls "$file"
        case $(search_path "$file") in
        '') ;;
        *) case $file in
            */libmpm_cuda.so*) check_search_path "$file" ;;  # loads cuBLASLt from the CUDA installation
            *) fault "$file" "RUNPATH $(search_path "$file")" ;;
            esac ;;
        esac
    done <"$scratch/files"
    for path; do
        grep -rlaF -e "$path/" "$folder" >"$scratch/named" || continue
        while read -r file; do
            fault "$file" "names $path: $(grep -aoE -m 1 "[[:graph:]]{0,40}$path/[[:graph:]]{0,60}" "$file" | head -n 1)"
        done <"$scratch/named"
    done
}

# check_starts PREFIX: checks that programs in any prefix start without settings, and find their files.
check_starts() {
    for program in "$1"/bin/*; do
        (cd "$scratch" && env -i PATH=/usr/bin:/bin HOME="$scratch" QT_QPA_PLATFORM=offscreen "$program" --help >/dev/null 2>said) ||
            fault "$program" "does not start: $(head -n 1 "$scratch/said")"
    done
    [ ! -x "$1/bin/mpm" ] || (cd "$scratch" && env -i PATH=/usr/bin:/bin HOME="$scratch" "$1/bin/mpm" info default >/dev/null) ||
        fault "$1/bin/mpm" "does not find the model that was installed with it"
}

# plant WORDS FLAG...: a program built with FLAGs must be reported with these words.
plant() {
    words=$1
    shift
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree"
    # shellcheck disable=SC2086  # flags are words
    cc $good "$scratch/planted.c" -o "$scratch/tree/planted" "$@"
    if check_installed "$scratch/tree" "$scratch/built" >"$scratch/said" 2>&1 && check_search_path "$scratch/tree/planted" >>"$scratch/said" 2>&1; then :; fi
    if [ -z "$words" ]; then
        [ ! -s "$scratch/said" ] || { echo "check_binaries: a good program is reported: $(cat "$scratch/said")" >&2; exit 1; }
    elif ! grep -qF "$words" "$scratch/said"; then
        echo "check_binaries: not caught: $* ($words): $(cat "$scratch/said")" >&2
        exit 1
    fi
    planted=$((planted + 1))
}

self_test() {
    planted=0
    cat >"$scratch/planted.c" <<'C'
#include <stdio.h>
#include <string.h>
#ifndef WORD
#define WORD "word"
#endif
int main(int argc, char** argv) {
    char buffer[64];
    strncpy(buffer, argv[argc - 1], sizeof buffer - 1);
    buffer[63] = 0;
    printf("%s %d %s\n", buffer, argc, WORD);
    return 0;
}
C
    good="-O2 -fPIE -pie -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -Wl,-z,relro,-z,now,-z,noexecstack"
    plant ''
    plant 'not position-independent' -fno-pie -no-pie
    plant 'bound late' -Wl,-z,lazy
    plant 'no RELRO' -Wl,-z,norelro
    plant 'may hold code' -Wl,-z,execstack
    plant 'no stack protector' -fno-stack-protector
    plant 'not built with FORTIFY' -U_FORTIFY_SOURCE
    plant 'RUNPATH [/opt/x]' -Wl,-rpath,/opt/x
    plant "has the entry ''" -Wl,-rpath,/opt/x:
    plant "has the entry 'lib'" -Wl,-rpath,/opt/x:lib
    plant "names $scratch/built" "-DWORD=\"$scratch/built/file.cpp\""
    echo '[{"command": "c++ -O2 -c x.cpp"}]' >"$scratch/tree/compile_commands.json"
    check_tree "$scratch/tree" | grep -q 'without -D_FORTIFY_SOURCE=2' || { echo "check_binaries: missing flags were not found" >&2; exit 1; }
    echo "check_binaries: $planted programs, each with the expected result"
}

if [ "${1:-}" = --self-test ]; then
    self_test
    exit 0
fi
build=$(cd "${1:?the build folder is missing}" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/log"
check_tree "$build" >"$scratch/faults"
trees=$(wc -l <"$scratch/files")
check_installed "$scratch/prefix" "$source" "$build" >>"$scratch/faults"
check_starts "$scratch/prefix" >>"$scratch/faults"
cat "$scratch/faults" >&2
[ ! -s "$scratch/faults" ] || exit 1
echo "check_binaries: $trees programs and libraries in the build folder, $(wc -l <"$scratch/files") installed, no fault"
