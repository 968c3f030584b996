#!/bin/sh
# Updates every .ts from the sources: new texts are added as unfinished, removed texts are deleted.
#   sh assets/translations/update.sh      then edit the .ts, with Qt Linguist or by hand
# lupdate ignores the namespaces of `namespace mpm::gui {`, which are part of a context's name at run time: the script
# removes them before and adds them again after.
set -eu
cd "$(dirname "$0")/../.."
lupdate=$(command -v lupdate6 || echo /usr/lib/qt6/bin/lupdate)
for file in assets/translations/*.ts; do
    sed -i 's|<name>mpm::gui::|<name>|' "$file"
    "$lupdate" -no-obsolete -locations none gui -ts "$file"
    sed -i 's|<name>mpm::gui::|<name>|; s|<name>|<name>mpm::gui::|' "$file"
done
