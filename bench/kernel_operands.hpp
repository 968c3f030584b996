// Operands of the product kernels, and the best rate that the product loop reaches on this machine.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/i8.hpp"
#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::bench {

using namespace mpm::kernels;

inline std::vector<float> noise(size_t count) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    std::generate(values.begin(), values.end(), [&] { return normal(random); });
    return values;
}

// The operands that products of all precisions share. `packed`: number of elements of a packed row.
template <class Weights>
struct ProductOperands {
    ProductOperands(int rows, int depth, int columns, int packed)
        : rows(rows),
          stride(paddedStride(packed)),
          left(paddedSize(rows, stride)),
          weights(noise(static_cast<size_t>(depth) * columns).data(), columns, depth, columns),
          output(static_cast<size_t>(rows) * columns) {}

    double flops() const { return 2.0 * rows * weights.depth() * weights.columns(); }

    int rows;
    size_t stride;
    Buffer left;
    Weights weights;
    std::vector<float> output;
};

struct Operands : ProductOperands<PackedWeights> {
    Operands(int rows, int depth, int columns) : ProductOperands(rows, depth, columns, depth) {
        const std::vector<float> values = noise(paddedSize(rows, stride));
        std::copy(values.begin(), values.end(), left.data());
    }
    void run(const Epilogue& epilogue = {}) {
        product(left.data(), stride, rows, weights, epilogue, output.data(), weights.columns());
    }
};

struct OperandsBf16 : ProductOperands<PackedWeightsBf16> {
    OperandsBf16(int rows, int depth, int columns) : ProductOperands(rows, depth, columns, pairsOf(depth)) {
        const std::vector<float> values = noise(static_cast<size_t>(rows) * depth);
        for (int r = 0; r < rows; ++r)
            packPairs(&values[static_cast<size_t>(r) * depth], depth, pairs() + r * stride);
    }
    Bf16Pair* pairs() { return reinterpret_cast<Bf16Pair*>(left.data()); }
    void run(const Epilogue& epilogue = {}) {
        productBf16(pairs(), stride, rows, weights, epilogue, output.data(), weights.columns());
    }
};

struct OperandsI8 : ProductOperands<PackedWeightsI8> {
    OperandsI8(int rows, int depth, int columns)
        : ProductOperands(rows, depth, columns, quadsOf(depth)), scales(rows) {
        const std::vector<float> values = noise(static_cast<size_t>(rows) * depth);
        for (int r = 0; r < rows; ++r)
            scales[r] = packQuads(&values[static_cast<size_t>(r) * depth], depth, quads() + r * stride);
    }
    I8Quad* quads() { return reinterpret_cast<I8Quad*>(left.data()); }
    void run(const Epilogue& epilogue = {}) {
        productI8(quads(), stride, scales.data(), rows, weights, epilogue, output.data(), weights.columns());
    }

    std::vector<float> scales;
};

// Returns the peak rate of this machine: the best rate of many runs of a product that fits into the caches.
template <class Product>
double peakFlops() {
    static const double peak = [] {
        Product operands(96, 384, 384);
        double best = 0;
        for (int i = 0; i < 400; ++i) {
            const auto start = std::chrono::steady_clock::now();
            operands.run();
            const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
            best = std::max(best, operands.flops() / time.count());
        }
        return best;
    }();
    return peak;
}

template <class Product = Operands>
void count(benchmark::State& state, double flops) {
    state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
    state.counters["of_peak"] =
        benchmark::Counter(flops / peakFlops<Product>(), benchmark::Counter::kIsIterationInvariantRate);
}

// Returns whether the processor lacks bf16. If so, skips the benchmark.
inline bool lacksBf16(benchmark::State& state) {
    if (!hasBf16()) state.SkipWithError("this processor multiplies no bf16");
    return !hasBf16();
}

}  // namespace mpm::bench
