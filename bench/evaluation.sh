#!/bin/sh
# Measures everything in docs/reference/evaluation.md again and updates the tables and plots.
#   bench/evaluation.sh MPM CAMVID WORK_DIR
# SWEEP=N measures the depth sweep (79 schedules) on the first N images only.
# Results that WORK_DIR already contains are not measured again, so use an empty folder for new weights or another
# machine.
# shellcheck disable=SC2086  # --limit and its number are two words, or none
set -eu
docs=$(cd "$(dirname "$0")/../docs/reference" && pwd)
mpm=$(realpath "$1") root=$(realpath "$2") work=$3
mkdir -p "$work" "$docs/plots"
cd "$work"

# evaluate NAME METHODS [OPTION...]: writes NAME.counts, NAME.md, NAME.csv and the plots
evaluate() {
    name=$1 methods=$2
    shift 2
    "$mpm" eval default --dataset camvid --root "$root" --compare "$methods" "$@" \
        --counts "$name.counts" --csv "$name.csv" --plots "plots-$name" >"$name.md"
}

# tome_like COLUMN: prints the r at which ToMe reaches MPM's value in this column of grid.csv, by day. Interpolates
# between measured values of r, and extrapolates a little beyond the largest.
tome_like() {
    awk -F, -v column="$1" '
        $6 == "day" && $1 == "mpm:2+5" { target = $column }
        $6 == "day" && $1 ~ /^tome:r=/ { r[++n] = substr($1, 8); value[n] = $column }
        END {
            for (i = 1; i < n; i++) {
                share = (target - value[i]) / (value[i + 1] - value[i])
                if (share >= 0 && share <= (i == n - 1 ? 1.3 : 1)) { printf "%d", r[i] + share * (r[i + 1] - r[i]) + 0.5; exit }
            }
            print "no r of the grid reaches MPM in column " column ": add larger ones" >"/dev/stderr"
            exit 1
        }' grid.csv
}

# table NUMBER FILE: prints the NUMBER-th table of a report
table() { awk -v wanted="$1" 'BEGIN { RS = "" } NR == wanted' "$2"; }

# splice NAME: puts standard input between <!-- NAME --> and <!-- end --> of the document
splice() {
    cat >"table-$1"
    awk -v name="$1" -v file="table-$1" '
        $0 == "<!-- " name " -->" { print; while ((getline line < file) > 0) print line; inside = 1 }
        $0 == "<!-- end -->" { inside = 0 }
        !inside' "$docs/evaluation.md" >document
    cat document >"$docs/evaluation.md"
}

evaluate grid none,mpm:2+5,mpm:5,tome:r=20,tome:r=40,tome:r=60,tome:r=80,algm:tau=.8,algm:tau=.88,algm:tau=.94,algm:tau=.97 \
    --night --paired
equal_work=$(tome_like 12)
equal_speed=$(tome_like 14)
evaluate main "none,mpm:2+5,mpm:5,tome:r=$equal_work,tome:r=$equal_speed,algm:tau=.9,algm:tau=.97"
evaluate night none,mpm:2+5,tome:r=30,algm:tau=.97 --paired --night 0.5,500,0.005 --night 0.35,250,0.01 --night 0.15,80,0.03
evaluate beyond none,mpm:2+5,mpm:mean=weighted:2+5,mpm:attention=proportional:2+5,mpm:2+4+6+8,local:window=4:2+5,random:2+5,grid:2+5
evaluate depth none,singles,pairs ${SWEEP:+--limit $SWEEP}

for number in 1 2 3; do table "$number" main.md | splice "main $number"; done
{
    echo "| equal to MPM {2, 5} in | ToMe's r |"
    echo "|---|---|"
    echo "| GFLOPs | $equal_work |"
    echo "| images a second | $equal_speed |"
} | splice "equal"
echo "The sweep used ${SWEEP:-all} images." | splice "sweep"
table 4 night.md | splice night
table 5 grid.md | splice tuning
table 1 beyond.md | splice beyond
"$mpm" doctor | grep -E '^(mpm|OpenCV|CPU)' | sed 's/^/    /' | splice machine
for plot in main/accuracy main/tokens main/distance main/regions night/night grid/tuning depth/depth; do
    cp "plots-${plot%/*}/${plot#*/}.svg" "$docs/plots/"
done
