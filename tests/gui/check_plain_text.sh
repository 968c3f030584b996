#!/bin/sh
# Text from outside must not become HTML, so only gui/widgets/plain_widgets.hpp makes labels, tool tips and message boxes.
# If another line makes such an object, for the program's own text, the line ends in "// own words".
# With --self-test: checks that the script finds each kind of mistake.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)

find_mistakes() {  # FOLDER
    grep -rnE \
        'new QLabel|QLabel [a-z][A-Za-z]*[;({]|new QMessageBox|QMessageBox::(about|information|question|warning|critical)|new QErrorMessage|(^|[>. ])setToolTip\(|setStatusTip|setWhatsThis|QToolTip::showText|setHtml|insertHtml|appendHtml|QTextBrowser|QStaticText|Qt::(RichText|AutoText|MarkdownText)|setItemData\(.*ToolTipRole' \
        "$1" --include='*.cpp' --include='*.hpp' |
        grep -v '/plain_widgets\.hpp:' | grep -v '// own words$'
    # A class derived from QLabel must set the format itself.
    grep -rlE 'public QLabel' "$1" --include='*.hpp' | while read -r header; do
        grep -q 'setTextFormat(Qt::PlainText)' "${header%.hpp}.cpp" || echo "$header: a label without Qt::PlainText"
    done
    # Tool tips of item models and tabs.
    grep -rnE -A1 'case Qt::ToolTipRole|== Qt::ToolTipRole|setTabToolTip\(' "$1" --include='*.cpp' |
        grep -E 'return|setTabToolTip' | grep -vE 'plainToolTip|tr\(|\?'
}

if [ "${1:-}" = --self-test ]; then
    work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
    missed=0
    for line in 'auto* l = new QLabel(name);' 'setToolTip(name);' 'w->setToolTip(name);' 'bar.setToolTip(name);' \
        'new QMessageBox(QMessageBox::NoIcon, title, name);' 'm_tabs->setTabToolTip(0, name);' \
        'case Qt::ToolTipRole: return name;' 'document.setHtml(name);' 'QToolTip::showText(at, name);'; do
        echo "$line" >"$work/a.cpp"
        [ -n "$(find_mistakes "$work")" ] || { echo "not found: $line"; missed=1; }
    done
    rm "$work/a.cpp"
    echo 'class A : public QLabel {};' >"$work/a.hpp"
    : >"$work/a.cpp"
    [ -n "$(find_mistakes "$work")" ] || { echo "not found: a class"; missed=1; }
    exit $missed
fi

mistakes=$(find_mistakes "$here/gui")
[ -z "$mistakes" ] && { echo "check_plain_text: no text of others is taken for HTML"; exit 0; }
echo "$mistakes"
echo "use plainLabel, setPlainToolTip, plainBox (gui/widgets/plain_widgets.hpp) or plainToolTip (gui/text/plain_text.hpp)"
exit 1
