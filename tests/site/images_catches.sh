#!/bin/sh
# images.sh --check must find images without a row, files that no document shows, and rows without a file.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -r "$root/README.md" "$root/docs" "$tree"
check() { sh "$root/docs/site/images.sh" --check "$tree"; }
check
# finds NAME: the check must fail with a message that names the file
finds() {
    ! check >"$tree/log" || { echo "images_catches: not found: $1" >&2; exit 1; }
    grep -q "$1" "$tree/log"
}
touch "$tree/docs/images/unused.jpg"
finds unused.jpg
rm "$tree/docs/images/unused.jpg"
echo '![new](../images/new.jpg)' >>"$tree/docs/guide/start.md"
finds new.jpg
sed -i '/new.jpg/d' "$tree/docs/guide/start.md"
rm "$tree/docs/images/front.webp"
finds front.webp
