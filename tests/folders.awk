# Checks two rules for the given source files: a folder has at most `most` files, and includes between folders
# have no cycle.

function folderOf(path) { sub(/\/[^\/]*$/, "", path); return path }

FNR == 1 { files[folderOf(FILENAME)]++ }

/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    to = $0
    sub(/^[^"<]*["<]/, "", to)
    sub(/[">].*/, "", to)
    if (to ~ /^mpm\//) to = "mpm_layer/include/" to
    from = folderOf(FILENAME)
    to = folderOf(to)
    if (from != to && !((from, to) in edge)) edge[from, to] = FILENAME ":" FNR
}

# Finds every folder that `start` includes, also through other folders.
function walk(start,    stack, depth, at, pair, ends) {
    depth = 1
    stack[1] = start
    while (depth > 0) {
        at = stack[depth--]
        for (pair in edge) {
            split(pair, ends, SUBSEP)
            if (ends[1] != at || (start, ends[2]) in reach) continue
            reach[start, ends[2]] = 1
            stack[++depth] = ends[2]
        }
    }
}

END {
    for (folder in files)
        if (files[folder] > most)
            found[++bad] = folder ": " files[folder] " source files, at most " most " in a folder"
    # Ignores includes of libraries.
    for (pair in edge) {
        split(pair, ends, SUBSEP)
        if (!(ends[2] in files)) delete edge[pair]
    }
    for (folder in files) walk(folder)
    for (pair in edge) {
        split(pair, ends, SUBSEP)
        if ((ends[2], ends[1]) in reach)
            found[++bad] = edge[pair] ": " ends[1] " includes " ends[2] ", which leads back to it"
    }
    for (i = 1; i <= bad; i++) print found[i] | "sort"
    close("sort")
    exit bad > 0
}
