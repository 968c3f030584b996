// Benchmarks of the kernels on a single thread. Prints the rate of each kernel, also as a share of the best
// rate of the product loop.
#include <vector>

#include "bench/kernel_operands.hpp"
#include "mpm_layer/kernels/attention/attention.hpp"
#include "mpm_layer/kernels/attention/bf16_attention.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"
#include "mpm_layer/merge/merge_map.hpp"
#include "mpm_layer/merge/nearest.hpp"

namespace {

using namespace mpm::bench;

void shapes(benchmark::internal::Benchmark* bench) {
    bench->ArgNames({"depth", "columns"})
        ->Args({192, 576})
        ->Args({192, 192})
        ->Args({192, 768})
        ->Args({768, 192})
        ->Args({768, 3072})
        ->Args({3072, 768});
}

template <class Product>
void measureProduct(benchmark::State& state, Activation activation = Activation::None) {
    Product operands(96, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
    Epilogue epilogue;
    epilogue.activation = activation;
    for (auto _ : state)
        operands.run(epilogue);
    count<Product>(state, operands.flops());
}

void productBench(benchmark::State& state, Activation activation) {
    measureProduct<Operands>(state, activation);
}
BENCHMARK_CAPTURE(productBench, plain, Activation::None)->Apply(shapes)->Args({384, 1536})->Args({1536, 384});
BENCHMARK_CAPTURE(productBench, gelu, Activation::Gelu)
    ->ArgNames({"depth", "columns"})
    ->Args({192, 768})
    ->Args({768, 3072});

void productBf16Bench(benchmark::State& state) {
    if (!lacksBf16(state)) measureProduct<OperandsBf16>(state);
}
BENCHMARK(productBf16Bench)->Apply(shapes);

// Measures a hidden layer in bf16 as the encoder runs it: product, GELU, and rounding for the next product.
void geluToPairsBench(benchmark::State& state) {
    if (lacksBf16(state)) return;
    OperandsBf16 operands(96, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
    const size_t stride = paddedStride(pairsOf(operands.weights.columns()));
    std::vector<Bf16Pair> output(paddedSize(operands.rows, stride));
    Epilogue epilogue;
    epilogue.activation = Activation::Gelu;
    for (auto _ : state) {
        productBf16(operands.pairs(), operands.stride, operands.rows, operands.weights, epilogue,
                    PairRows{output.data(), stride});
    }
    count<OperandsBf16>(state, operands.flops());
}
BENCHMARK(geluToPairsBench)->ArgNames({"depth", "columns"})->Args({192, 768})->Args({768, 3072});

void productI8Bench(benchmark::State& state) {
    measureProduct<OperandsI8>(state);
}
BENCHMARK(productI8Bench)->Apply(shapes);

// Measures a hidden layer in int8: product, GELU, and quantising the rows for the next product.
void geluToQuadsBench(benchmark::State& state) {
    OperandsI8 operands(96, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
    const int columns = operands.weights.columns();
    const size_t stride = paddedStride(quadsOf(columns));
    std::vector<I8Quad> output(paddedSize(operands.rows, stride));
    Epilogue epilogue;
    epilogue.activation = Activation::Gelu;
    for (auto _ : state) {
        operands.run(epilogue);
        for (int r = 0; r < operands.rows; ++r)
            packQuads(&operands.output[static_cast<size_t>(r) * columns], columns, &output[r * stride]);
    }
    count<OperandsI8>(state, operands.flops());
}
BENCHMARK(geluToQuadsBench)->ArgNames({"depth", "columns"})->Args({192, 768})->Args({768, 3072});

// Measures attention in f32. In the encoder's layout, the rows of a head follow each other. A larger stride
// shows the cost of a layout with rows of other heads in between.
void attentionBench(benchmark::State& state) {
    const int tokens = static_cast<int>(state.range(0)), size = static_cast<int>(state.range(1));
    const size_t stride = state.range(2);
    const size_t part = paddedSize(tokens, stride);
    const std::vector<float> rows = noise(3 * part);
    std::vector<float> output(static_cast<size_t>(tokens) * size);
    const float* at = rows.data();
    const AttentionHead head{at, at + part, at + 2 * part, stride, tokens, size, 0.125f};
    for (auto _ : state) {
        for (int q = 0; q < tokens; q += queryPanel()) {
            attendPanel(head, q, output.data() + static_cast<size_t>(q) * size, size);
        }
    }
    count(state, 4.0 * tokens * tokens * size);
}
BENCHMARK(attentionBench)
    ->ArgNames({"tokens", "head", "apart"})
    ->Args({1025, 64, 64})
    ->Args({1025, 64, 592})
    ->Args({1025, 64, 2320})
    ->Args({591, 64, 64})
    ->Args({4097, 64, 64})
    ->Args({1025, 32, 32})
    ->Args({1025, 80, 80})
    ->Args({1025, 128, 128});

void attentionBf16Bench(benchmark::State& state) {
    if (lacksBf16(state)) return;
    const int tokens = static_cast<int>(state.range(0)), size = static_cast<int>(state.range(1));
    const std::vector<float> values = noise(static_cast<size_t>(tokens) * size);
    Buffer keyMemory(paddedSize(tokens + kKeysRead, pairsOf(size)));
    auto* keys = reinterpret_cast<Bf16Pair*>(keyMemory.data());
    const bool columns = takesValuesAsColumns(size);
    const int room = (pairsOf(tokens) + kValuePairs - 1) / kValuePairs * kValuePairs;
    const size_t stride = paddedStride(columns ? room : size);
    Buffer pairMemory(static_cast<size_t>(columns ? size : room) * stride);
    auto* pairs = reinterpret_cast<Bf16Pair*>(pairMemory.data());
    for (int t = 0; t < tokens; ++t)
        packPairs(&values[static_cast<size_t>(t) * size], size,
                  &keys[static_cast<size_t>(t) * pairsOf(size)]);
    const ConstPairRows rows{keys, static_cast<size_t>(pairsOf(size))};
    for (int p = 0; p < pairsOf(tokens); p += kValuePairs) {
        packValues(rows.from(2 * p), std::min(2 * kValuePairs, tokens - 2 * p), size, columns,
                   &pairs[columns ? p : p * stride], stride);
    }
    std::vector<float> output(static_cast<size_t>(tokens) * size);
    AttentionHead head{};
    head.tokens = tokens;
    head.headSize = size;
    const AttentionHeadBf16 half{head, rows, rows, pairs, stride, columns};
    for (auto _ : state) {
        for (int q = 0; q < tokens; q += queryPanel())
            attendPanelBf16(half, q, output.data() + static_cast<size_t>(q) * size, size);
    }
    count<OperandsBf16>(state, 4.0 * tokens * tokens * size);
}
BENCHMARK(attentionBf16Bench)
    ->ArgNames({"tokens", "head"})
    ->Args({1025, 64})
    ->Args({591, 64})
    ->Args({4097, 64})
    ->Args({1025, 32});

void attentionI8Bench(benchmark::State& state) {
    const int tokens = static_cast<int>(state.range(0)), size = static_cast<int>(state.range(1));
    const std::vector<float> values = noise(static_cast<size_t>(tokens) * size);
    const size_t stride = quadsOf(size);
    std::vector<I8Quad> keys(paddedSize(tokens, stride));
    std::vector<float> scales(paddedSize(tokens, 1)), output(static_cast<size_t>(tokens) * size);
    for (int t = 0; t < tokens; ++t)
        scales[t] = packQuads(&values[static_cast<size_t>(t) * size], size, &keys[t * stride]);
    const AttentionHead head{values.data(), nullptr, values.data(), static_cast<size_t>(size),
                             tokens,        size,    0.125f};
    AttentionHeadI8 whole{head, keys.data(), stride, scales.data()};
    const int groups = quadsOf(tokens);
    std::vector<std::int8_t> bytes(static_cast<size_t>(groups) * 4 * size);
    std::vector<I8Quad> quads(static_cast<size_t>(groups) * size);
    std::vector<float> steps(2 * static_cast<size_t>(tokens));
    if (takesValueQuads()) {
        for (int t = 0; t < tokens; ++t) {
            const size_t at = static_cast<size_t>(t) * size;
            const ValueStep step = roundValues(&values[at], size, &bytes[at]);
            steps[t] = step.bias, steps[tokens + t] = step.inverse;
        }
        for (int g = 0; g < groups; ++g) {
            const std::int8_t* first = &bytes[static_cast<size_t>(g) * 4 * size];
            interleaveBytes({first, first + size, first + 2 * size, first + 3 * size}, size,
                            &quads[static_cast<size_t>(g) * size]);
        }
        whole.values = quads.data(), whole.valueStride = size;
        whole.valueBiases = steps.data(), whole.valueInverses = steps.data() + tokens;
    }
    for (auto _ : state) {
        for (int q = 0; q < tokens; q += queryPanel())
            attendPanelI8(whole, q, output.data() + static_cast<size_t>(q) * size, size);
    }
    count<OperandsI8>(state, 4.0 * tokens * tokens * size);
}
BENCHMARK(attentionI8Bench)
    ->ArgNames({"tokens", "head"})
    ->Args({1025, 64})
    ->Args({591, 64})
    ->Args({4097, 64})
    ->Args({1025, 32});

void nearestBench(benchmark::State& state) {
    const int tokens = static_cast<int>(state.range(0)), width = static_cast<int>(state.range(1));
    const size_t windows = state.range(2), size = static_cast<size_t>(tokens) * width;
    const std::vector<float> values = noise(windows * size);
    std::vector<mpm::RowsView> rows;
    for (size_t w = 0; w < windows; ++w)
        rows.push_back({values.data() + w * size, static_cast<size_t>(width), tokens, width});
    cv::setNumThreads(1);
    for (auto _ : state)
        benchmark::DoNotOptimize(mpm::nearestNeighbours(rows));
    count(state, static_cast<double>(windows) * tokens * (tokens - 1) * width);
}
BENCHMARK(nearestBench)
    ->ArgNames({"tokens", "dim", "windows"})
    ->Args({1024, 192, 1})
    ->Args({1024, 384, 1})
    ->Args({1024, 768, 1})
    ->Args({4096, 768, 1})
    ->Args({130, 64, 1})
    ->Args({256, 64, 1})
    ->Args({384, 64, 1})
    ->Args({884, 64, 1})
    ->Args({256, 128, 1})
    ->Args({256, 192, 1})
    ->Args({144, 384, 4})
    ->Args({256, 384, 4})
    ->Args({484, 384, 4});

void normBench(benchmark::State& state) {
    const int width = static_cast<int>(state.range(0));
    std::vector<float> rows = noise(1024 * static_cast<size_t>(width)), weight(width, 1.1f),
                       bias(width, 0.1f);
    std::vector<float> out(rows.size());
    for (auto _ : state) {
        for (int r = 0; r < 1024; ++r) {
            normaliseRow(&rows[r * static_cast<size_t>(width)], width, weight.data(), bias.data(), {},
                         &out[r * static_cast<size_t>(width)]);
        }
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * 1024 * width * 8);
}
BENCHMARK(normBench)->ArgName("dim")->Arg(192)->Arg(768);

void unitRowBench(benchmark::State& state) {
    const int width = static_cast<int>(state.range(0));
    std::vector<float> rows = noise(1024 * static_cast<size_t>(width)), out(rows.size());
    for (auto _ : state) {
        for (int r = 0; r < 1024; ++r) {
            benchmark::DoNotOptimize(
                unitRow(&rows[r * static_cast<size_t>(width)], width, &out[r * static_cast<size_t>(width)]));
        }
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * 1024 * width * 8);
}
BENCHMARK(unitRowBench)->ArgName("dim")->Arg(192)->Arg(768);

void pairMeanBench(benchmark::State& state) {
    const int width = static_cast<int>(state.range(0));
    const std::vector<float> rows = noise(1024 * static_cast<size_t>(width));
    std::vector<float> out(512 * static_cast<size_t>(width));
    for (auto _ : state) {
        for (int r = 0; r < 512; ++r) {
            const int members[] = {r, r + 512};
            meanRow(rows.data(), width, members, 2, width, &out[r * static_cast<size_t>(width)]);
        }
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * 512 * width * 12);
}
BENCHMARK(pairMeanBench)->ArgName("dim")->Arg(192)->Arg(768);

void gatherBench(benchmark::State& state) {
    const int width = static_cast<int>(state.range(0)), kept = 608, all = 1024;
    const std::vector<float> rows = noise(kept * static_cast<size_t>(width));
    std::vector<float> out(all * static_cast<size_t>(width));
    mpm::MergeMap map;
    map.clusters = kept;
    for (int i = 0; i < all; ++i)
        map.ids.push_back(i * kept / all);
    const mpm::RowsView view{rows.data(), static_cast<size_t>(width), kept, width};
    for (auto _ : state)
        restoreRows(view, map, out.data(), width);
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * all * width * 8);
}
BENCHMARK(gatherBench)->ArgName("dim")->Arg(192)->Arg(768);

}  // namespace

BENCHMARK_MAIN();
