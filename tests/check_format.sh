#!/bin/sh
# Is every source formatted as .clang-format says? clang-format's releases differ among each other, so only the one of
# Debian 12 judges; elsewhere this says so and passes.
set -eu
cd "$(dirname "$0")/.."
if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    echo "check_format: skipped, clang-format 14 is not here"
    exit 0
fi
find base mpm_layer street models pipeline cli gui tests bench -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' \) -print0 |
    xargs -0 -r clang-format --dry-run --Werror
echo "check_format: every source is in form"
