#!/bin/sh
# mpm-models.sh PROGRAM VERSION: prints the manual page of mpm-models, from the --help of the program and of each command.
set -eu
program=$1 version=$2

# section NAME: the options in a text of --help; NAME is the command.
section() {
    awk -v name="$1" '
        function roff(text) { gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text); sub(/^[.\x27]/, "\\\\\\&&", text); return text }
        NR == 1 { printf ".SS mpm\\-models %s\n%s\n", name, roff($0); next }
        /^[A-Z][a-z]*:$/ { listed = 1; next }
        !listed || /^$/ || /^ *-h,--help/ { next }
        /^  [^ ]/ {
            text = substr($0, 3)
            help = ""
            if (match(text, /  +/)) { help = substr(text, RSTART + RLENGTH); text = substr(text, 1, RSTART - 1) }
            word = text; sub(/ .*/, "", word)
            rest = substr(text, length(word) + 2)
            printf ".TP\n\\fB%s\\fR%s\n", roff(word), rest == "" ? "" : " \\fI" roff(rest) "\\fR"
            if (help != "") print roff(help)
            next
        }
        { sub(/^ */, ""); print roff($0) }'
}

commands=$("$program" --help | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p')
cat <<END
.TH MPM\-MODELS 1 "" "mpm $version" "Mutual Pair Merging"
.SH NAME
mpm\-models \- train, measure, import and export segmentation models
.SH SYNOPSIS
\fBmpm\-models\fR \fICOMMAND\fR [\fIOPTION\fR]...
.SH DESCRIPTION
Trains a Segmenter with LibTorch, measures it, imports published weights and writes ONNX files that
\fBmpm\fR(1) runs with merging.
.SH COMMANDS
END
for command in $commands; do "$program" "$command" --help | section "$command"; done
cat <<'END'
.SH EXAMPLES
.nf
mpm\-models import checkpoint.pth vit.onnx
mpm\-models scene street \-\-frames 20
mpm\-models train \-\-data street \-\-dataset folder \-\-out run
mpm\-models export run/best.pt model.onnx \-\-fused \-\-dataset folder \-\-data street
.fi
.SH EXIT STATUS
.TP
0
done
.TP
1
failed while running
.TP
2
wrong usage
.TP
3
unusable input: missing or damaged
.SH SEE ALSO
\fBmpm\fR(1), \fBmpm\-eval\fR(1)
END
