#!/bin/sh
# Brings every .ts up to the sources: new words are added as unfinished, words that are gone go.
#   sh assets/translations/update.sh      then edit the .ts, with Qt Linguist or by hand
# lupdate does not see the namespaces of `namespace mpm::gui {`, which are part of a context's name at run time:
# they are taken off before it looks and put back after.
set -eu
cd "$(dirname "$0")/../.."
lupdate=$(command -v lupdate6 || echo /usr/lib/qt6/bin/lupdate)
for file in assets/translations/*.ts; do
    sed -i 's|<name>mpm::gui::|<name>|' "$file"
    "$lupdate" -no-obsolete -locations none gui -ts "$file"
    sed -i 's|<name>mpm::gui::|<name>|; s|<name>|<name>mpm::gui::|' "$file"
done
