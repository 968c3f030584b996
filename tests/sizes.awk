# Finds products of dimensions that a hostile size could overflow: `rows * cols` in int, `total *= size`. Reads C++
# statement by statement; see check_sizes.sh.
#
# A product is reported if two factors look like dimensions, and no factor before the second dimension is
# wide: a cast to a 64-bit or floating type, a variable of such a type, a number with a point. If a product
# cannot overflow for another reason, a line of the statement ends with the comment: // fits: the reason

BEGIN {
    # A name that ends with one of these words (upper or lower case) is a dimension: m_cropRows, imageWidth.
    dimension = "(rows|cols|columns|width|height|channels|tokens|classes|images|pixels|patches|heads|dim|depth|inner|" \
                "hidden|planes|area|extent)$"
    split("size_t std::size_t ptrdiff_t std::ptrdiff_t int64 int64_t std::int64_t uint64_t std::uint64_t int64 uint64 " \
          "qint64 quint64 qsizetype qreal double float", list, " ")
    for (i in list) wideType[list[i]] = 1
    split("int unsigned auto int32_t std::int32_t std::uint32_t short bool", list, " ")
    for (i in list) narrowType[list[i]] = 1
}

FNR == 1 { finish(); inComment = 0; split("", isWide) }

{
    line = $0
    reason = line ~ /\/\/ fits: [^ ]+ [^ ]+/
    line = withoutComments(line)
    if (line ~ /^[ \t]*#/) next  # no macro of this project computes sizes
    if (statement == "") { first = FNR; file = FILENAME }
    statement = statement line "\n"
    excused = excused || reason
    if (line ~ /[;{}][ \t]*$/ || line ~ /^[ \t]*(public|private|protected|case .*|default):[ \t]*$/) finish()
}

END { finish(); exit bad }

# Removes comments, and the content of string and character literals.
function withoutComments(line,    out, i, c, two, quote) {
    if (!inComment && line !~ /["'\/]/) return line
    out = ""
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        two = substr(line, i, 2)
        if (inComment) {
            if (two == "*/") { inComment = 0; i++ }
        } else if (quote != "") {
            if (c == "\\") i++
            else if (c == quote) { quote = ""; out = out c }
        } else if (two == "//") {
            break
        } else if (two == "/*") {
            inComment = 1; i++
        } else if (c == "\"" || (c == "'" && out !~ /[0-9]$/)) {
            quote = c; out = out c
        } else {
            out = out c
        }
    }
    return out
}

function finish() {
    if (statement ~ /\*/ || statement ~ /size_t|int64|double|float|int |auto |qreal/) examine(statement)
    statement = ""
    excused = 0
}

# Reads the words and signs of a statement, with a stack of brackets. Each open bracket has factors so far.
function examine(text,    token, line, kind, before) {
    line = first
    level = 0
    split("", bracket)
    startLevel("", "")
    previous = ""
    declared = ""
    while (text != "") {
        if (match(text, /^[ \t]+/)) { text = substr(text, RLENGTH + 1); continue }
        if (substr(text, 1, 1) == "\n") { line++; text = substr(text, 2); continue }
        if (match(text, /^[A-Za-z_][A-Za-z_0-9]*(::[A-Za-z_][A-Za-z_0-9]*)*/)) kind = "name"
        else if (match(text, /^[0-9][0-9a-fA-FxX']*(\.[0-9]*)?([eE][-+]?[0-9]+)?[a-zA-Z]*/)) kind = "number"
        else if (match(text, /^(<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*\/%&|^]=|::)/)) kind = "sign"
        else { match(text, /^./); kind = "sign" }
        token = substr(text, 1, RLENGTH)
        text = substr(text, RLENGTH + 1)
        # static_cast<T>( and T{ are factors of type T.
        if (token == "static_cast" && match(text, /^<[^()]*>/)) {
            cast = substr(text, 2, RLENGTH - 2)
            text = substr(text, RLENGTH + 1)
            gsub(/^[ \t]+|[ \t]+$/, "", cast)
            token = cast == "long long" || cast == "unsigned long long" ? "size_t" : cast
            if (!(token in wideType)) token = "narrow"
            kind = "name"
        }
        step(token, kind, line, text)
        previous = token
    }
}

function startLevel(open, owner) {
    bracket[++level] = open
    ownerOf[level] = owner
    resetChain()
    hasDimension[level] = hasWide[level] = 0
}

function resetChain() {
    dims[level] = wide[level] = 0
    sign[level] = place[level] = ""
    resetOperand()
}

function resetOperand() {
    operand[level] = ""   # name of the last part
    operandDim[level] = operandWide[level] = operandGrows[level] = 0
    present[level] = 0
    operandPlace[level] = ""  # "x 2" of x[2]
}

# Ends a factor: counts the factor, and reports a product of two dimensions.
function takeFactor(line,    dim, isWideFactor) {
    if (!present[level]) return
    dim = operandDim[level]
    isWideFactor = operandWide[level]
    if (dim) hasDimension[level] = 1
    if (isWideFactor) hasWide[level] = 1
    if (sign[level] == "/") {
        # A division makes no value larger.
    } else if (sign[level] == "%") {
        dims[level] = dim
        wide[level] = isWideFactor || wide[level]
    } else if (sign[level] == "*=") {
        if (dim || operandGrows[level]) complain(line, "a product of sizes that grows in place")
    } else {
        if (isWideFactor) wide[level] = 1
        if (dim && !wide[level]) dims[level]++
        if (sign[level] == "*" && !wide[level] && (dims[level] == 2 || sameList(place[level], operandPlace[level])))
            complain(line, "a product of dimensions in narrow arithmetic")
    }
    if (operandPlace[level] != "") place[level] = operandPlace[level]
}

# Whether both factors are elements of one list, such as x[2] and x[3]. Such a list is a shape.
function sameList(a, b,    x, y) {
    if (a == "" || b == "" || a == b) return 0
    split(a, x, " ")
    split(b, y, " ")
    return x[1] == y[1]
}

function complain(line, why) {
    if (excused) return
    printf "%s:%d: %s (...%s): use base/checked.hpp, widen the first factor, or say // fits: why\n", \
        file, line, why, operand[level]
    bad = 1
}

function step(token, kind, line, rest,    name, isMember, inner, innerWide, innerPlace, open, owner) {
    if (kind == "number") {
        if (present[level]) resetOperand()
        present[level] = 1
        operand[level] = token
        operandWide[level] = token ~ /[.]|[lL][lL]|^[0-9]+[eE]/ && token !~ /^0[xX]/
        return
    }
    if (kind == "name") {
        name = token
        isMember = previous == "." || previous == "->"
        declare(name, isMember, rest)
        if (name == "return" || name == "const" || name == "case" || name == "constexpr") { resetChain(); return }
        present[level] = 1
        operand[level] = name
        operandDim[level] = looksLikeDimension(name, rest)
        operandWide[level] = (name in wideType) || name == "sizeof" || name ~ /^(mpm::)?checked/ || \
                             (!isMember && (name in isWide)) || (name == "size" && rest ~ /^\(/)
        operandGrows[level] = name ~ /^(size|extent)$/
        if (operandGrows[level]) hasDimension[level] = hasDimension[level] || sign[1] == "*="
        return
    }
    if (token == "." || token == "->" || token == "::") return
    if (token == "(" || token == "[" || token == "{") {
        owner = present[level] ? operand[level] : ""
        startLevel(token, owner)
        return
    }
    if (token == ")" || token == "]" || token == "}") {
        takeFactor(line)
        if (level == 1) { resetChain(); return }
        open = bracket[level]; owner = ownerOf[level]
        inner = hasDimension[level]; innerWide = hasWide[level]; innerPlace = place[level]
        if (open == "[" && operand[level] ~ /^[0-9]$/ && owner != "") innerPlace = owner " " operand[level]
        level--
        if (open == "[" || owner == "") operandPlace[level] = innerPlace
        if (open == "(" && (owner == "" || owner ~ /^(std::)?(min|max|abs|narrow)$/)) {
            # a bracket, or a call that returns an argument
            present[level] = 1
            if (inner) operandDim[level] = 1
            if (innerWide) operandWide[level] = 1
            if (owner == "") operand[level] = "(...)"
        }
        if (open == "(" && inner) operandGrows[level] = 1
        return
    }
    if (token == "*" || token == "/" || token == "%") {
        if (!present[level]) return  # a pointer's star
        takeFactor(line)
        sign[level] = token
        resetOperand()
        return
    }
    if (token == "*=") {
        resetChain()
        sign[level] = "*="
        return
    }
    takeFactor(line)  # any other sign ends the chain
    resetChain()
}

function looksLikeDimension(name, rest,    plain) {
    plain = name
    sub(/^.*::/, "", plain)
    sub(/^m_/, "", plain)
    if (plain ~ /^[A-Z]/) return 0  # a type
    if (plain ~ /^(size|sizes|shape|extents)$/) return rest ~ /^\[/
    if (plain == "total") return rest ~ /^\(/
    if (plain == "batch") return rest !~ /^\(/ && rest !~ /^[.]/
    plain = tolower(plain)
    return plain ~ dimension && rest !~ /^(\.|->)/
}

# Remembers the type of plain variables: TYPE NAME, or a further name of the same declaration.
function declare(name, isMember, rest) {
    if (isMember) return
    if ((previous in wideType || previous in narrowType || previous == "long") && rest ~ /^[ \t\n]*[=,;(){}:]/) {
        setWide(name, previous in wideType || previous == "long")
        declared = previous
        declaredLevel = level
    } else if (previous == "," && declared != "" && level == declaredLevel && level == 1 && rest ~ /^[ \t\n]*[=,;({]/) {
        setWide(name, declared in wideType || declared == "long")
    }
}

function setWide(name, is) {
    if (is) isWide[name] = 1
    else delete isWide[name]
}
