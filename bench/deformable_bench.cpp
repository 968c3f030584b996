// Benchmarks of MpmDeformable at the sizes of a pixel decoder's layer: three levels (1/8 to 1/32 of a square
// image), 4 points, 8 heads. deformableBound measures a lower bound of the time: it only reads the samples,
// with four loads from a cache for each vector of channels.
#include <algorithm>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>
#include <opencv2/core/utility.hpp>

#include "bench/four_loads.hpp"
#include "mpm_layer/decoder/deformable.hpp"

namespace {

constexpr int kHeads = 8, kPoints = 4, kLevels = 3;

struct Layer {
    Layer(int side, int channels) : width(channels) {
        shape.heads = kHeads;
        shape.points = kPoints;
        shape.headSize = channels / kHeads;
        for (int part : {8, 16, 32})
            shape.levels.emplace_back(side / part, side / part);
        for (const cv::Size& level : shape.levels)
            shape.queries += level.area();
        std::mt19937 random(1);
        std::normal_distribution<float> normal;
        const auto fill = [&](std::vector<float>& values, size_t count, float deviation) {
            values.resize(count);
            std::generate(values.begin(), values.end(), [&] { return deviation * normal(random); });
        };
        const size_t queries = shape.queries, samples = queries * kHeads * kLevels * kPoints;
        fill(value, queries * width, 1);
        fill(offsets, 2 * samples, 2);
        fill(logits, samples, 1);
        for (const cv::Size& level : shape.levels) {
            for (int i = 0; i < level.area(); ++i) {
                reference.push_back((i % level.width + 0.5f) / level.width);
                reference.push_back((i / level.width + 0.5f) / level.height);
            }
        }
        out.resize(queries * width);
    }
    // Returns the number of floats that are read: all channels at the four corners of every sample.
    double reads() const { return 4.0 * shape.queries * kHeads * kLevels * kPoints * shape.headSize; }

    int width;
    mpm::decoder::DeformableShape shape;
    std::vector<float> value, offsets, logits, reference, out;
};

void deformableBench(benchmark::State& state) {
    Layer layer(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
    cv::setNumThreads(static_cast<int>(state.range(2)));
    const mpm::decoder::Deformable deformable(layer.shape);
    for (auto _ : state) {
        deformable.run({layer.value.data(), layer.offsets.data(), layer.logits.data(), layer.reference.data(),
                        layer.out.data()});
    }
    state.counters["reads"] =
        benchmark::Counter(layer.reads(), benchmark::Counter::kIsIterationInvariantRate);
    cv::setNumThreads(-1);
}
BENCHMARK(deformableBench)
    ->ArgNames({"side", "channels", "threads"})
    ->Args({512, 256, 1})
    ->Args({512, 256, 2})
    ->Args({896, 1024, 1})
    ->UseRealTime();

// Returns the indices of the corners of all samples of 64 neighbouring queries, for a single head. The
// benchmark reads only these corners, so they stay in the cache.
std::vector<std::int32_t> corners(const Layer& layer) {
    std::vector<std::int32_t> at;
    const int samples = kLevels * kPoints, queries = 64;
    for (int q = 0; q < queries; ++q) {
        int start = 0;
        for (int k = 0; k < samples; ++k) {
            const cv::Size level = layer.shape.levels[k / kPoints];
            const float* offset = &layer.offsets[2 * (static_cast<size_t>(q) * kHeads * samples + k)];
            const auto place = [](float share, int size, float shift) {
                return std::clamp(static_cast<int>(share * size + shift), 0, size - 2);
            };
            const int x = place(layer.reference[2 * q], level.width, offset[0]),
                      y = place(0.5f, level.height, offset[1]);
            for (int corner = 0; corner < 4; ++corner)
                at.push_back((start + (y + corner / 2) * level.width + x + corner % 2) * layer.width);
            if (k % kPoints == kPoints - 1) start += level.area();
        }
    }
    return at;
}

void deformableBound(benchmark::State& state) {
    const Layer layer(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
    const size_t samples = static_cast<size_t>(kLevels) * kPoints;
    const std::vector<float> weights(4 * samples, 0.25f);
    const std::vector<std::int32_t> at = corners(layer);
    const int each = 4 * kLevels * kPoints, rounds = layer.shape.queries * kHeads,
              places = static_cast<int>(at.size()) / each;
    std::vector<float> out(layer.shape.headSize);
    for (auto _ : state) {
        for (int i = 0; i < rounds; ++i) {
            mpm::bench::fourLoads(layer.value.data(), &at[i % places * each], weights.data(), samples,
                                  layer.shape.headSize, out.data());
            benchmark::DoNotOptimize(out.data());
        }
    }
    state.counters["reads"] =
        benchmark::Counter(layer.reads(), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(deformableBound)->ArgNames({"side", "channels"})->Args({512, 256})->UseRealTime();

}  // namespace
