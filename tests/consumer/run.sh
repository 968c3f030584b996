#!/bin/sh
# run.sh SOURCE PREFIX SCRATCH MODEL: configures, builds and runs the program in SOURCE with the package in PREFIX, as a
# user would: once by find_package (shared and static), once by pkg-config. All three must print the same.
set -eu
source=$1 prefix=$2 scratch=$3 model=$4
rm -rf "$scratch"
mkdir -p "$scratch"

cmake -S "$source" -B "$scratch" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix"
cmake --build "$scratch"

pc=$(dirname "$(find "$prefix" -name mpm.pc)")
libs=$(dirname "$pc")
# shellcheck disable=SC2046  # flags are words
c++ -std=c++17 "$source/main.cpp" -o "$scratch/consumer_pc" \
    $(PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs mpm) "-Wl,-rpath,$libs"

for program in consumer consumer_static consumer_pc; do
    "$scratch/$program" "$model" | tee "$scratch/$program.txt"
    cmp "$scratch/consumer.txt" "$scratch/$program.txt"
done
