// A benchmark of MpmMaskLabels at an EoMT's sizes: 200 queries, 150 classes and "no object", 640x640 pixels.
#include <vector>

#include <benchmark/benchmark.h>
#include <opencv2/core/utility.hpp>

#include "bench/kernel_operands.hpp"
#include "mpm_layer/decoder/mask_labels.hpp"

namespace {

void maskLabelsBench(benchmark::State& state) {
    mpm::decoder::MaskLabelsShape shape;
    shape.queries = 200;
    shape.classes = 150;
    shape.masks = cv::Size(160, 160);
    shape.image = cv::Size(640, 640);
    const std::vector<float> masks =
                                 mpm::bench::noise(static_cast<size_t>(shape.queries) * shape.masks.area()),
                             logits =
                                 mpm::bench::noise(static_cast<size_t>(shape.queries) * (shape.classes + 1));
    cv::setNumThreads(1);
    mpm::decoder::MaskLabels labels(shape, false);
    long sum = 0;
    for (auto _ : state) {
        labels.run(masks.data(), logits.data(),
                   [&](int, int, int, const int* found, const float*) { sum += found[0]; });
    }
    benchmark::DoNotOptimize(sum);
    mpm::bench::count(state, 2.0 * shape.queries * shape.classes * shape.image.area());
    cv::setNumThreads(-1);
}
BENCHMARK(maskLabelsBench)->UseRealTime();

}  // namespace
