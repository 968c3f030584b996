#!/bin/sh
# Updates every .ts from the sources: new texts are added as unfinished, removed texts are deleted.
#   sh assets/translations/update.sh             then edit the .ts, with Qt Linguist or by hand
#   sh assets/translations/update.sh --check     fails if a translation lacks a placeholder (%1) of its text, or adds one,
#                                                or if a text has a word that the monitor does not use
#   sh assets/translations/update.sh --complete  for a release: fails if a text of the sources has no translation
# A text without a translation is shown in English.
# lupdate ignores the namespaces of `namespace mpm::gui {`, which are part of a context's name at run time: the script
# removes them before and adds them again after.
set -eu
cd "$(dirname "$0")/../.."
lupdate=$(command -v lupdate6 || echo /usr/lib/qt6/bin/lupdate)

# update FILE
update() {
    sed -i 's|<name>mpm::gui::|<name>|' "$1"
    "$lupdate" -silent -no-obsolete -locations none gui pipeline/draw pipeline/store -ts "$1"
    sed -i 's|<name>mpm::gui::|<name>|; s|<name>|<name>mpm::gui::|; s|^ *||' "$1"  # indents are a fifth of the file
}

# placeholders FILE: prints each message whose text and translation have different placeholders.
placeholders() {
    awk '
    function marks(text, sorted, i) {
        sorted = ""
        for (i = 1; i <= 9; ++i)
            if (index(text, "%" i)) sorted = sorted i
        return sorted
    }
    { text = text $0 "\n" }
    /<\/message>/ {
        source = text; sub(/.*<source>/, "", source); sub(/<\/source>.*/, "", source)
        translation = text; sub(/.*<translation[^>]*>/, "", translation); sub(/<\/translation>.*/, "", translation)
        if (translation != "" && translation !~ /^ *<message>/ && marks(source) != marks(translation)) {
            print FILENAME ": " source " -> " translation
            wrong = 1
        }
        text = ""
    }
    END { exit wrong }' "$1"
}

# Words of earlier versions that people did not understand.
not_ours='short cut|flips?|page for prometheus'

case "${1:-}" in
--check)
    if grep -niwE "<source>.*($not_ours)" assets/translations/*.ts; then
        echo "update: the texts above have words that the monitor does not use" >&2
        exit 1
    fi
    for file in assets/translations/*.ts; do
        placeholders "$file" || { echo "update: $file: the placeholders above differ" >&2; exit 1; }
    done
    exit 0
    ;;
--complete)
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
    ;;
esac
for file in assets/translations/*.ts; do
    update "$file"
done
