// Simulates an hour of a fixed camera at 5 frames a second, in which the scene becomes dark. Memory must not
// grow, and no output may become stale.
#include <cmath>

#include "base/memory_use.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/reuse_suite.hpp"

namespace mpm::test {
namespace {

constexpr int kFrames = 18000, kMany = 300, kDim = 96;

double residentMb() {
    return static_cast<double>(memoryUse().resident) / 1e6;
}

// Returns frame `number`. The light fades over the hour, and sometimes an object crosses the image.
cv::Mat frameAt(const cv::Mat& scene, int number, std::mt19937& random) {
    const double hour = static_cast<double>(number) / kFrames;
    cv::Mat frame = scene * (1 - 0.3 * hour);
    std::normal_distribution<float> normal(0, static_cast<float>(0.05 * (1 - 0.3 * hour)));
    for (size_t i = 0; i < frame.total(); ++i)
        frame.ptr<float>()[i] += normal(random);
    for (int part = 0; number % 100 < 60 && part < 12; ++part)
        for (int d = 0; d < kDim; ++d)
            frame.ptr<float>(0, 1 + (number + 20 * part) % kMany)[d] += d % 2 ? 1.0f : -1.0f;
    return frame;
}

TEST(ReuseHour, MemoryStaysFlatAndOutputsStayNear) {
    const EncoderOptions o = options([](auto& p) { p.heads = 3, p.headSize = 32, p.hidden = 64; });
    const EncoderCase encoder = makeEncoder(o);
    Camera camera(encoder, Reuse());
    const cv::Mat scene = makeBatch(o, 1, kMany, 5);
    std::mt19937 random(9);
    std::vector<double> errors(6), shares(6);
    double memory = 0;
    size_t allocations = 0;
    for (int number = 0; number < kFrames; ++number) {
        const cv::Mat frame = frameAt(scene, number, random), seen = camera.see(frame)[0];
        const size_t part = static_cast<size_t>(number) * errors.size() / kFrames;
        shares[part] += camera.reuse().recomputed * static_cast<double>(errors.size()) / kFrames;
        if (number % 30 == 0)
            errors[part] = std::max(errors[part], relativeError(seen, unmerged(encoder, frame)[0]));
        if (number == kFrames / 6) memory = residentMb(), allocations = kernels::systemAllocations();
    }
    for (size_t part = 0; part < errors.size(); ++part) {
        EXPECT_LT(errors[part], 2 * errors[0]) << "ten minutes from " << 10 * part;
        EXPECT_LT(shares[part], 0.25) << "ten minutes from " << 10 * part;
    }
    EXPECT_EQ(kernels::systemAllocations(), allocations);
    EXPECT_LT(residentMb() - memory, 2);
}

}  // namespace
}  // namespace mpm::test
