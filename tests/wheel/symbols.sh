#!/bin/sh
# symbols.sh WHEEL: fails if a library in WHEEL needs a newer symbol than the tag manylinux_2_35 promises.
set -eu
content=$(mktemp -d)
trap 'rm -rf "$content"' EXIT
python3 -m zipfile -e "$1" "$content"
for promised in GLIBC_2.35 GLIBCXX_3.4.30 CXXABI_1.3.13; do
    newest=$(find "$content" -name '*.so' -exec objdump -T {} + | grep -o "\<${promised%%_*}_[0-9.]*" | sort -uV | tail -1)
    [ "$(printf '%s\n%s\n' "$newest" "$promised" | sort -V | tail -1)" = "$promised" ] || {
        echo "wheel: $1 needs $newest, and its tag promises $promised: build the wheel on Debian 12" >&2
        exit 1
    }
done
