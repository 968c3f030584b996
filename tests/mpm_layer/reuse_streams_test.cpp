// Tests streams of reuse: batches of several streams, decoders and chains after the encoder, memory.
#include <mpm/mpm.h>

#include "base/memory_use.hpp"
#include "mpm_layer/kernels/attention/bf16_attention.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/reuse_suite.hpp"

namespace mpm::test {
namespace {

TEST(Reuse, TheSameFramesGiveTheSameBitsInAnyBatchAndForAnyThreads) {
    const EncoderOptions o = options([](auto& p) { p.special = 2, p.rope = "half"; });
    const EncoderCase encoder = makeEncoder(o);
    Reuse reuse = exactly(6, 0.3);
    constexpr int kFrames = 24, kImages = 5;
    // The larger i is, the more tokens of stream i change. Some streams stay partial, some become full and
    // suspended.
    std::vector<std::vector<cv::Mat>> frames(kImages);
    for (int i = 0; i < kImages; ++i) {
        frames[i].push_back(makeBatch(o, 1, kTokens, 40 + i));
        for (int f = 1; f < kFrames; ++f) {
            std::vector<int> tokens;
            for (int t = 0; t < kTokens; ++t)
                if ((t * 7 + f * 3) % kTokens < (f < 14 ? 6 * i : i)) tokens.push_back(t);
            frames[i].push_back(changed(frames[i].back(), o.special, tokens, 1000 * i + f));
        }
    }
    for (Precision precision : precisions()) {
        std::vector<std::vector<cv::Mat>> alone(kImages);
        std::vector<std::vector<ReuseState>> states(kImages);
        for (int i = 0; i < kImages; ++i) {
            Camera camera(encoder, reuse, precision);
            for (const cv::Mat& frame : frames[i]) {
                alone[i].push_back(camera.see(frame)[0]);
                states[i].push_back(camera.reuse().state);
            }
        }
        EXPECT_EQ(std::count(states[1].begin(), states[1].end(), ReuseState::Full), 1);
        EXPECT_GT(std::count(states[4].begin(), states[4].end(), ReuseState::Suspended), 3);
        EXPECT_EQ(states[4].back(), ReuseState::Partial);
        const int threads = cv::getNumThreads();
        for (int count : {1, 2, 5}) {
            cv::setNumThreads(count);
            Camera camera(encoder, reuse, precision);
            for (int f = 0; f < kFrames; ++f) {
                // The streams are in another order in each frame; sometimes a stream is missing.
                std::vector<int> images = {f % 5, (f + 3) % 5, (f + 1) % 5, (f + 4) % 5, (f + 2) % 5};
                const int sizes[] = {kImages, o.special + kTokens, o.dim()};
                cv::Mat batch(3, sizes, CV_32F);
                for (int i = 0; i < kImages; ++i)
                    std::memcpy(batch.ptr<float>(i), frames[images[i]][f].data, frames[0][0].total() * 4);
                camera.change([&](Settings& s) { s.streams = images; });
                const cv::Mat output = camera.see(batch)[0];
                for (int i = 0; i < kImages; ++i) {
                    EXPECT_TRUE(sameBits(imageOf(output, i), imageOf(alone[images[i]][f], 0)))
                        << "stream " << images[i] << " frame " << f << " threads " << count;
                    EXPECT_EQ(camera.reuse(i).state, states[images[i]][f]);
                }
            }
        }
        cv::setNumThreads(threads);
    }
}

TEST(Reuse, ADecoderFollowsTheEncoderBeforeIt) {
    const EncoderOptions o = options(),
                         after = options([](auto&p) { p.blocks = 2, p.seed = 9, p.schedule = {}; });
    const EncoderCase encoder = makeEncoder(o);
    EncoderCase decoder = makeEncoder(after);
    decoder.config.merges = false;
    const int refresh = 4;
    const ReadingNetwork reading;
    Camera first(encoder, exactly(refresh)), second(decoder, std::nullopt);
    cv::Mat frame = makeBatch(o, 1, kTokens, 5);
    const auto see = [&] { return second.see(first.see(frame)[0])[0]; };
    see();
    EXPECT_EQ(second.reuse().state, ReuseState::Full);
    for (int i = 0; i < 5; ++i) {
        frame = changed(frame, o.special, {2 * i, 30}, 50 + i);
        see();
        EXPECT_EQ(second.reuse().state, ReuseState::Partial);
        EXPECT_LT(second.reuse().recomputed, 0.6) << "half of the tokens are due every other frame";
    }
    cv::Mat seen;
    for (int i = 0; i < (o.blocks + after.blocks + 1) * refresh; ++i) {
        seen = see();
        EXPECT_GT(first.reuse().recomputed, 0);
    }
    const cv::Mat wanted = unmerged(decoder, unmerged(encoder, frame)[0])[0];
    EXPECT_TRUE(sameBits(seen, wanted));
    EXPECT_TRUE(sameBits(see(), wanted));
    EXPECT_EQ(first.reuse().recomputed, 0);
    EXPECT_EQ(second.reuse().recomputed, 0);
    first.change([](Settings& s) { s.reuse = std::optional<Reuse>(); });
    see();
    EXPECT_EQ(second.reuse().state, ReuseState::Off);
}

TEST(Reuse, MemoryOfAStreamIsBoundedAndWarmFramesAllocateNothing) {
    const EncoderOptions o = options();
    const EncoderCase encoder = makeEncoder(o);
    Camera camera(encoder, exactly());
    cv::Mat frame = makeBatch(o, 1, kTokens, 5);
    for (int i = 0; i < 8; ++i)
        camera.see(frame = changed(frame, o.special, {i, i + 1}, i));
    const size_t before = kernels::systemAllocations();
    for (int i = 0; i < 20; ++i)
        camera.see(frame = changed(frame, o.special, {i, i + 1}, i));
    EXPECT_EQ(kernels::systemAllocations(), before);
    for (int stream = 0; stream < 80; ++stream) {
        camera.change([&](Settings& s) { s.streams = {stream}; });
        camera.see(frame);
        EXPECT_EQ(camera.reuse().state, stream == 0 ? ReuseState::Partial : ReuseState::Full);
    }
    const auto stateOf = [&](int stream) {
        camera.change([&](Settings& s) { s.streams = {stream}; });
        camera.see(frame);
        return camera.reuse().state;
    };
    EXPECT_EQ(stateOf(16), ReuseState::Partial);  // the 64 most recently used streams are 16..79
    EXPECT_EQ(stateOf(15), ReuseState::Full);
}

// In every frame, two segments without a node between them compute the same rows and bits as a single
// encoder.
TEST(Reuse, AChainComputesTheBitsOfOneEncoder) {
    const EncoderOptions o =
        options([](auto& p) { p.blocks = 5, p.special = 3, p.rope = "half", p.qkNorm = true; });
    EncoderOptions windows = o;
    divide(windows, {4, 3}, {1, 4});
    windows.ropeOfWindow = true;
    for (int n = 0; n < 2 * static_cast<int>(precisions().size()); ++n) {
        const Precision precision = precisions()[n / 2];
        const EncoderOptions& own = n % 2 ? windows : o;
        const EncoderCase whole = makeEncoder(own);
        Camera one(whole, exactly(4, 0.4), precision);
        ChainRun chain(whole, {2, 3}, [&](Settings& s) {
            s.device = Device::Cpu;
            s.precision = precision;
            s.reuse = exactly(4, 0.4);
        });
        std::mt19937 random(17);
        cv::Mat frame = makeBatch(own, 1, kTokens, 5);
        for (int f = 0; f < 60; ++f) {
            std::vector<int> tokens;
            const int most = f == 12 ? kTokens : f < 20 ? static_cast<int>(random() % 20) : 0;
            for (int i = 0; i < most; ++i)
                tokens.push_back(static_cast<int>(random() % kTokens));
            frame = changed(frame, own.specialRows(), tokens, 300 + f);
            const cv::Mat expected = one.see(frame)[0], seen = chain.forward(frame);
            ASSERT_TRUE(sameBits(seen, expected)) << "frame " << f;
            const ReuseReport report = chain.control().report().images[0].reuse;
            ASSERT_EQ(report.state, one.state()) << "frame " << f;
            ASSERT_EQ(report.recomputed, one.reuse().recomputed) << "frame " << f;
            ASSERT_EQ(report.meanDrift, one.reuse().meanDrift) << "frame " << f;
            ASSERT_EQ(report.largestDrift, one.reuse().largestDrift) << "frame " << f;
        }
        EXPECT_EQ(one.reuse().recomputed, 0) << "both rest";
    }
}

// More tokens change between the segments than before the first segment. The reported drift must be the drift
// of the chain's output.
TEST(Reuse, TheDriftOfAChainIsThatOfItsOutput) {
    const EncoderOptions o = options([](auto& p) { p.blocks = 4; });
    ChainRun chain(makeEncoder(o), {2}, [](Settings& s) {
        s.device = Device::Cpu;
        s.reuse = exactly(4);
    });
    cv::Mat frame = makeBatch(o, 1, kTokens, 5), added = makeBatch(o, 1, kTokens, 6), before;
    double most = 0;
    for (int f = 0; f < 16; ++f) {
        frame = changed(frame, o.special, {f, 30}, 50 + f);
        added = changed(added, o.special, {40, 41, 42, 43, 44, 45}, 80 + f);
        const cv::Mat now = imageOf(chain.forward(frame, {{2, added}}), 0);
        const ReuseReport report = chain.control().report().images[0].reuse;
        ASSERT_EQ(report.state, f == 0 ? ReuseState::Full : ReuseState::Partial);
        double sum = 0, largest = 0;
        int count = 0;
        for (int t = 0; t < kTokens && f > 0; ++t) {
            if (report.reasons.at<uchar>(t) != static_cast<uchar>(ReuseReason::Refreshed)) continue;
            const int row = o.special + t;
            const double drift = cv::norm(now.row(row), before.row(row)) / cv::norm(now.row(row));
            sum += drift;
            largest = std::max(largest, drift);
            ++count;
        }
        EXPECT_NEAR(report.meanDrift, sum / std::max(1, count), 1e-5) << "frame " << f;
        EXPECT_NEAR(report.largestDrift, largest, 1e-5) << "frame " << f;
        most = std::max(most, largest);
        before = now;
    }
    EXPECT_GT(most, 1e-3);
}

// Without an engine of OpenCV, only marks (mpm_begin_network) show which operators form a network.
TEST(Reuse, ADecoderFollowsOnlyIfItsNetworkIsCertain) {
    EncoderOptions o = options(), after = options([](auto&p) { p.blocks = 2, p.seed = 9, p.schedule = {}; });
    const EncoderCase encoder = makeEncoder(o);
    EncoderCase decoder = makeEncoder(after);
    decoder.config.merges = false;
    const cv::Mat frame = makeBatch(o, 1, kTokens, 5), next = changed(frame, o.special, {3}, 7);
    for (const bool marked : {false, true}) {
        if (marked) mpm_begin_network();
        Camera first(encoder, exactly()), second(decoder, std::nullopt);
        mpm_end_network();
        second.see(first.see(frame)[0]);
        second.see(first.see(next)[0]);
        EXPECT_EQ(first.state(), ReuseState::Partial);
        EXPECT_EQ(second.state(), marked ? ReuseState::Partial : ReuseState::Off);
        second.see(next);  // the backbone did not run before this frame
        EXPECT_EQ(second.state(), ReuseState::Off);
    }
}

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
double residentMb() {
    return static_cast<double>(memoryUse().resident) / 1e6;
}

// The sizes are those of the shipped model: 1,200 tokens of a ViT-Tiny with 12 blocks, then 2 blocks of a
// mask decoder. The test measures the growth of the process, which includes alignment and unused memory.
TEST(Reuse, AStreamOfRealWidthsKeepsItsBarOfMemory) {
    EncoderOptions o = options([](auto& p) { p.blocks = 12, p.heads = 3, p.headSize = 64, p.hidden = 64; });
    o.imageTokens = 1200;
    EncoderOptions after = o;
    after.blocks = 2, after.seed = 9, after.special = 0, after.trailing = o.special, after.schedule = {};
    const EncoderCase encoder = makeEncoder(o);
    EncoderCase decoder = makeEncoder(after);
    decoder.config.merges = false;
    const cv::Mat frame = makeBatch(o, 1, 1200, 5);
    std::vector<std::unique_ptr<Camera>> cameras;  // kept: new cameras would reuse freed memory
    for (Precision precision : precisions()) {
        const ReadingNetwork reading;
        cameras.push_back(std::make_unique<Camera>(encoder, exactly(), precision));
        Camera& first = *cameras.back();
        cameras.push_back(std::make_unique<Camera>(decoder, std::nullopt, precision));
        Camera& second = *cameras.back();
        double before = 0;
        constexpr int kWarm = 2, kStreams = 10;
        for (int stream = 0; stream < kStreams; ++stream) {
            first.change([&](Settings& s) { s.streams = {stream}; });
            for (int i = 0; i < 2; ++i)
                second.see(first.see(frame)[0]);
            ASSERT_EQ(second.state(), ReuseState::Partial);
            if (stream + 1 == kWarm) before = residentMb();
        }
        const double each = (residentMb() - before) / (kStreams - kWarm);
        const bool f32 = precision == Precision::F32;
        // Without instructions for products of bytes, int8 keeps the values of attention in f32.
        const bool asBytes = precision != Precision::I8 || kernels::takesValueQuads();
        EXPECT_LE(each, f32 ? 32 : asBytes ? 20 : 22);
        // Keys and values of 14 blocks are 25.8 MB in f32, 12.9 MB in bf16, 6.5 MB as bytes; outputs are f32.
        EXPECT_GT(each, f32 ? 28 : precision == Precision::BF16 ? 14 : 10) << "measured where the memory is";
        RecordProperty(f32 ? "f32" : precision == Precision::BF16 ? "bf16" : "i8", std::to_string(each));
    }
}
#endif

}  // namespace
}  // namespace mpm::test
