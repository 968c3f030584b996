#!/bin/sh
# Checks that every source is formatted as in .clang-format. Releases of clang-format differ, so only that of Debian 12
# is used; without it the check is skipped with a message.
set -eu
cd "$(dirname "$0")/.."
if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    echo "check_format: skipped, clang-format 14 is not installed"
    exit 0
fi
find base mpm_layer street models pipeline cli gui tests bench -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' \) -print0 |
    xargs -0 -r clang-format --dry-run --Werror
echo "check_format: every source is formatted"
