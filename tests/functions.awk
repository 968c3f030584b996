# Checks the length of functions and files: a function may have `mostLines` lines, from the opening to the
# closing brace, a file `mostFile` lines.
#
# Braces in comments, strings and preprocessor lines do not count. Of #if and #else, only the first branch
# counts. A brace outside of functions opens a function if there is a parameter list before the brace.
function report(where, message) { print where ": " message; bad = 1 }

# Whether `head`, the text before a brace, is the head of a function.
function isFunction(head) {
    if (head ~ /(^|[ \t])(namespace|extern)([ \t]|$)/) return 0
    gsub(/operator *[^ \ta-zA-Z(]+/, "operator", head)
    if (head ~ /=[ \t]*$/) return 0
    if (head ~ /^[ \t]*(,[ \t]*[A-Za-z_0-9]+[ \t]*)?$/) return afterFunction  # inside or after a list of initialisers
    if (head !~ /\(/) return 0
    return head !~ /^[ \t]*(template *<[^(]*> *)?(class|struct|union|enum)[ \t][^(]*$/
}

function nameOf(head,    at) {
    sub(/\).*$/, "", head)
    if (match(head, /[A-Za-z_~][A-Za-z0-9_:~]*[ \t]*\(/)) head = substr(head, RSTART, RLENGTH)
    sub(/[ \t]*\(.*$/, "", head)
    return head
}

function open(head) {
    ++depth
    if (!inside && isFunction(head)) {
        inside = depth
        begun = FNR
        named = head !~ /\(/ ? named : nameOf(head)
    }
}

function close_(    lines) {
    if (inside == depth) {
        inside = 0
        afterFunction = 2
        lines = FNR - begun + 1
        if (lines > mostLines) report(FILENAME ":" begun, named " has " lines " lines, at most " mostLines)
    }
    --depth
}

function endFile() {
    if (last == "") return
    if (lastLines > mostFile) report(last ":1", lastLines " lines, at most " mostFile)
    if (depth != 0) report(last ":1", "braces do not match, so that functions cannot be measured")
}

FNR == 1 {
    endFile()
    last = FILENAME
    depth = inside = inComment = inRaw = skipped = branches = afterFunction = continued = 0
    head = ""
}

{ lastLines = FNR }

{
    line = $0
    if (inRaw) {
        if (!match(line, /\)[A-Za-z]*"/)) next
        line = substr(line, RSTART + RLENGTH)
        inRaw = 0
    }
    if (inComment) {
        if (!match(line, /\*\//)) next
        line = substr(line, RSTART + RLENGTH)
        inComment = 0
    }
    if (continued || line ~ /^[ \t]*#/) {
        continued = line ~ /\\$/
        if (line ~ /^[ \t]*#[ \t]*if/) { if (skipped) ++skipped }
        else if (line ~ /^[ \t]*#[ \t]*(else|elif)/) { if (!skipped) skipped = 1 }
        else if (line ~ /^[ \t]*#[ \t]*endif/) { if (skipped) --skipped }
        next
    }
    if (skipped) next
    if (match(line, /R"[A-Za-z]*\(/) && substr(line, 1, RSTART - 1) !~ /\/\//) {
        rest = substr(line, RSTART + RLENGTH)
        before = substr(line, 1, RSTART - 1)
        if (match(rest, /\)[A-Za-z]*"/)) line = before substr(rest, RSTART + RLENGTH)
        else { line = before; inRaw = 1 }
    }
    gsub(/\\\\/, "", line)
    gsub(/\\"/, "", line)
    gsub(/'([^'\\]|\\.)'/, "", line)
    gsub(/"[^"]*"/, "", line)
    sub(/\/\/.*/, "", line)
    gsub(/\/\*[^*]*\*\//, "", line)
    if (match(line, /\/\*/)) { line = substr(line, 1, RSTART - 1); inComment = 1 }
    while (match(line, /[{};]/)) {
        mark = substr(line, RSTART, 1)
        head = head " " substr(line, 1, RSTART - 1)
        line = substr(line, RSTART + 1)
        if (afterFunction) --afterFunction
        if (mark == "{") open(head)
        else if (mark == "}") close_()
        if (!inside || mark != ";") head = ""
        if (mark == ";") head = ""
    }
    if (!inside) head = head " " line
}

END {
    endFile()
    exit bad
}
