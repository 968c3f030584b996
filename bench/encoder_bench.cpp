// Benchmarks of the encoder with all tokens and with merging. Also measures merge and restore. The weights
// are random, but neighbouring tokens are similar, so that the method finds pairs.
#include <benchmark/benchmark.h>

#include "mpm_layer/encoder/runner.hpp"
#include "mpm_layer/encoder/windows.hpp"
#include "support/encoder_case.hpp"

namespace {

using namespace mpm;

// Returns the options of the ViT (T, S, B or L) with this number of heads.
test::EncoderOptions vit(int heads) {
    test::EncoderOptions o;
    o.heads = heads, o.headSize = 64, o.hidden = 4 * o.dim(), o.blocks = heads == 16 ? 24 : 12;
    return o;
}

void encoderBench(benchmark::State& state) {
    const int heads = static_cast<int>(state.range(0)), tokens = static_cast<int>(state.range(1));
    const int images = static_cast<int>(state.range(2));
    const bool merged = state.range(3) != 0;
    test::EncoderOptions options = vit(heads);
    if (merged) options.schedule = {2, 5};
    const test::EncoderCase encoder = test::makeEncoder(options);
    const auto control = std::make_shared<EncoderControl>(encoder.config);
    EncoderRunner runner(control);
    runner.setWeights(encoder.weights);
    const cv::Mat batch = test::makeBatch(options, images, tokens, 1);
    std::vector<cv::Mat> out(1);
    out[0].create(3, batch.size.p, CV_32F);
    double merge = 0, restore = 0, left = 0;
    runner.run(batch, cv::Mat(), out);
    for (auto _ : state) {
        runner.run(batch, cv::Mat(), out);
        const Report report = control->report();
        merge += report.times.merge;
        restore += report.times.restore;
        left = report.images[0].tokens.back();
    }
    const double forwards = static_cast<double>(state.iterations());
    double flops = 0;
    const double dim = options.dim();
    for (const ImageReport& image : control->report().images) {
        for (int n : image.tokens)
            flops += 24.0 * (n + 1) * dim * dim + 4.0 * (n + 1) * (n + 1) * dim;
    }
    state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
    state.counters["merge_ms"] = merge / forwards;
    state.counters["restore_ms"] = restore / forwards;
    state.counters["tokens_left"] = left;
}
BENCHMARK(encoderBench)
    ->ArgNames({"heads", "tokens", "batch", "merged"})
    ->ArgsProduct({{3, 6, 12}, {1024}, {1}, {0, 1}})
    ->ArgsProduct({{3}, {1024}, {8}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

// Measures RF-DETR's encoder: 2x2 windows, each with a class token, and three global blocks.
void windowsBench(benchmark::State& state) {
    const int side = static_cast<int>(state.range(0));
    const bool merged = state.range(1) != 0;
    test::EncoderOptions options = vit(6);
    options.grid = cv::Size(2 * side, 2 * side), options.window = cv::Size(side, side);
    options.globalBlocks = {3, 6, 9};
    if (merged) options.schedule = {2, 5};
    const test::EncoderCase encoder = test::makeEncoder(options);
    const auto control = std::make_shared<EncoderControl>(encoder.config);
    control->change([&](Settings& s) { s.precision = static_cast<Precision>(state.range(2)); });
    EncoderRunner runner(control);
    runner.setWeights(encoder.weights);
    const cv::Mat batch = test::makeBatch(options, 1, options.grid.area(), 1);
    std::vector<cv::Mat> out(1);
    out[0].create(3, batch.size.p, CV_32F);
    double merge = 0;
    runner.run(batch, cv::Mat(), out);
    for (auto _ : state) {
        runner.run(batch, cv::Mat(), out);
        merge += control->report().times.merge;
    }
    const ImageReport image = control->report().images[0];
    const std::vector<std::vector<int>> windows = tokensByWindow(encoder.config, image);
    const double dim = options.dim();
    double flops = 0;
    for (int b = 0; b < options.blocks; ++b) {
        const double rows = image.tokens[b] + 4;
        double pairs = rows * rows;
        if (!encoder.config.isGlobal(b)) {
            pairs = 0;
            for (const int tokens : windows[b])
                pairs += (tokens + 1.0) * (tokens + 1);
        }
        flops += 24 * rows * dim * dim + 4 * pairs * dim;
    }
    state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
    state.counters["merge_ms"] = merge / static_cast<double>(state.iterations());
    state.counters["tokens_left"] = image.tokens.back();
}
BENCHMARK(windowsBench)
    ->ArgNames({"side", "merged", "precision"})
    ->ArgsProduct({{12, 16, 22},
                   {0, 1},
                   {static_cast<int>(Precision::F32), static_cast<int>(Precision::BF16),
                    static_cast<int>(Precision::I8)}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
