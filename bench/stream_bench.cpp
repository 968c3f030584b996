// Measures the time of every frame of a fixed camera. The times differ, because the number of tokens that
// remain after merging differs from frame to frame.
//   mpm_bench_stream MODEL FRAMES PRECISION THREADS
// Runs frames of the built-in street over a day. Drawing a frame is not part of its time. Prints a CSV
// row per frame: milliseconds from blob to output, tokens left, and the result of constantLoopMs().
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <opencv2/core/utility.hpp>

#include "base/stopwatch.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "pipeline/source/scene_source.hpp"

namespace {

/// Returns the milliseconds of a constant loop of multiplications and additions that all threads run. The
/// loop uses no memory, so if its time changes, the machine's speed has changed.
double constantLoopMs() {
    const mpm::Stopwatch watch;
    const int threads = cv::getNumThreads();
    cv::parallel_for_(
        cv::Range(0, threads),
        [](const cv::Range&) {
            float sums[48] = {};
            for (int step = 0; step < 2000000; ++step) {
                for (float& sum : sums)
                    sum = sum * 0.999f + 0.001f;
            }
            volatile float result = 0;
            for (const float sum : sums)
                result = result + sum;
        },
        threads);
    return watch.milliseconds();
}

void stream(const char* model, int frames, const char* precision) {
    mpm::pipeline::Segmenter segmenter{mpm::pipeline::Network(model)};
    segmenter.encoder().setDevice(mpm::Device::Cpu);
    segmenter.encoder().setPrecision(std::string(precision) == "bf16" ? mpm::Precision::BF16
                                                                      : mpm::Precision::F32);
    mpm::pipeline::SceneOptions options;
    options.framesPerDay = options.frames = frames;
    mpm::pipeline::SceneSource source(options);
    source.open();
    std::printf("frame,network_ms,tokens,constant_ms\n");
    mpm::pipeline::Frame frame;
    while (source.next(frame)) {
        const double constantMs = constantLoopMs();
        const mpm::pipeline::Segmentation seen = segmenter.segment(frame.image);
        std::printf("%lld,%.3f,%d,%.3f\n", static_cast<long long>(frame.number), seen.networkMs,
                    seen.tokens.tokens.back(), constantMs);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: mpm_bench_stream MODEL FRAMES f32|bf16 THREADS\n");
        return 2;
    }
    try {
        cv::setNumThreads(std::atoi(argv[4]));
        stream(argv[1], std::atoi(argv[2]), argv[3]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
