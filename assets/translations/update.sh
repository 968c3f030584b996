#!/bin/sh
# Updates every .ts from the sources: new texts are added as unfinished, removed texts are deleted.
#   sh assets/translations/update.sh           then edit the .ts, with Qt Linguist or by hand
#   sh assets/translations/update.sh --check   changes nothing; fails if a text of the sources has no translation
# lupdate ignores the namespaces of `namespace mpm::gui {`, which are part of a context's name at run time: the script
# removes them before and adds them again after.
set -eu
cd "$(dirname "$0")/../.."
lupdate=$(command -v lupdate6 || echo /usr/lib/qt6/bin/lupdate)

# update FILE
update() {
    sed -i 's|<name>mpm::gui::|<name>|' "$1"
    "$lupdate" -silent -no-obsolete -locations none gui pipeline/draw pipeline/store -ts "$1"
    sed -i 's|<name>mpm::gui::|<name>|; s|<name>|<name>mpm::gui::|' "$1"
}

if [ "${1:-}" = --check ]; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    for file in assets/translations/*.ts; do
        copy=$scratch/$(basename "$file")
        cp "$file" "$copy"
        update "$copy" 2>"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
        grep -q '<source>' "$copy" || { echo "update: $file: lupdate found no text" >&2; exit 1; }
        if grep -B1 'type="unfinished"' "$copy"; then
            echo "update: $file: the texts above have no translation; run assets/translations/update.sh" >&2
            exit 1
        fi
    done
    exit 0
fi
for file in assets/translations/*.ts; do
    update "$file"
done
