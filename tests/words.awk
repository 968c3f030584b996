# Counts words of documents, comments or strings, and words to avoid (CONTRIBUTING.md, "Language").
#   awk -v kind=documents|comments|strings -v list=0|1 -f words.awk FILE...
# Prints one line of rates, and with list=1 each place of a word; exit status 1 if a rate is too high.
BEGIN {
    limit["picture"] = 0.5 # per 1,000 words
    limit["what"] = 2.5
}

FNR == 1 {
    in_block = 0
    script = FILENAME !~ /\.(cpp|hpp|h|cu|cuh|c)$/
}

kind == "documents" { count($0); next }
script { if (kind == "comments" && match($0, /(^|[ \t])#/)) count(substr($0, RSTART)); next }
{ read_code($0) }

# read_code LINE: counts comments or strings of the line, by `kind`. A block comment may continue in the next line.
function read_code(rest,    quote) {
    while (rest != "") {
        if (in_block) {
            if (!match(rest, /\*\//)) { part("comments", rest); return }
            part("comments", substr(rest, 1, RSTART - 1))
            rest = substr(rest, RSTART + 2)
            in_block = 0
        }
        if (!match(rest, /\/\/|\/\*|"|'/)) return
        quote = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        if (quote == "//") { part("comments", rest); return }
        if (quote == "/*") { in_block = 1; continue }
        # Reads up to the closing quote. An escaped quote does not end the string.
        if (!(quote == "\"" ? match(rest, /^([^"\\]|\\.)*"/) : match(rest, /^([^'\\]|\\.)*'/))) continue
        # Skips strings of a single word, which are names or keys.
        if (quote == "\"" && substr(rest, 1, RLENGTH) ~ /[^ ] [^ ]/) part("strings", substr(rest, 1, RLENGTH - 1))
        rest = substr(rest, RLENGTH + 1)
    }
}

function part(of, text) { if (of == kind) count(text) }

# Underscores belong to words: per_picture is a name.
function count(text,    n, i, words) {
    n = split(tolower(text), words, /[^a-z0-9_]+/)
    for (i = 1; i <= n; i++) {
        if (words[i] !~ /[a-z]/) continue
        total++
        sub(/^pictures$/, "picture", words[i])
        if (words[i] in limit) {
            found[words[i]]++
            if (list) print FILENAME ":" FNR ": " text
        }
    }
}

END {
    if (!total) { print "check_words: no " kind " found"; exit 2 }
    line = "check_words: " kind ": " total " words"
    for (word in limit) {
        rate = 1000 * found[word] / total
        line = line sprintf(", \"%s\" %.2f of at most %.1f per 1,000", word, rate, limit[word])
        if (rate >= limit[word]) high = 1
    }
    print line
    exit high
}
