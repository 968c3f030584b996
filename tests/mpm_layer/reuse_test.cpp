// Reuse over time in the encoder: the recomputed rows, and the correctness of the rest.
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "mpm_layer/encoder/reuse/options.hpp"
#include "mpm_layer/encoder/runner.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "support/encoder_case.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

constexpr int kTokens = 60;

std::vector<int> ids(const cv::Mat& map) {
    return {map.ptr<int>(), map.ptr<int>() + map.total()};
}

/// One encoder that sees frame after frame.
class Camera {
public:
    Camera(const EncoderCase& encoder, const std::optional<Reuse>& reuse,
           Precision precision = Precision::F32)
        : m_encoder(encoder),
          m_control(std::make_shared<EncoderControl>(encoder.config)),
          m_runner(m_control) {
        change([&](Settings& s) {
            s.device = Device::Cpu;
            s.precision = precision;
            s.reuse = reuse;
        });
        m_runner.setWeights(encoder.weights);
    }

    template <class Change>
    void change(const Change& change) {
        m_control->change(change);
    }

    std::vector<cv::Mat> see(const cv::Mat& batch, const cv::Mat& keyBias = cv::Mat()) {
        std::vector<cv::Mat> outputs(m_encoder.config.taps.size());
        for (cv::Mat& output : outputs)
            output.create(batch.dims, batch.size.p, CV_32F);
        m_runner.run(batch, keyBias, outputs);
        return outputs;
    }

    ReuseReport reuse(int image = 0) const { return m_control->report().images.at(image).reuse; }
    Report report() const { return m_control->report(); }
    EncoderRunner& runner() { return m_runner; }

private:
    EncoderCase m_encoder;
    std::shared_ptr<EncoderControl> m_control;
    EncoderRunner m_runner;
};

EncoderOptions options(const std::function<void(EncoderOptions&)>& change = [](EncoderOptions&) {}) {
    EncoderOptions o;
    o.imageTokens = kTokens;
    o.schedule = {1};
    change(o);
    return o;
}

// Everything that a block may have.
std::vector<EncoderOptions> allKinds() {
    return {
        options(),
        options([](auto& o) { o.special = 0; }),
        options([](auto& o) { o.special = 5, o.rope = "half", o.qkNorm = true; }),
        options([](auto& o) { o.rope = "interleaved", o.ropePerHead = true, o.layerScale = true; }),
        options([](auto& o) { o.gated = true, o.activation = "silu", o.mlpNorm = o.attentionNorm = true; }),
        options([](auto& o) {
            o.taps = {0, 1, 2}, o.tapNorm = {0, 1, 1};
        }),
        options([](auto& o) { o.headSize = 32, o.hidden = 128, o.finalNorm = false; }),
    };
}

Reuse exactly(int refresh = 5, double full = 0.5) {
    Reuse reuse;
    reuse.exact = true;
    reuse.refresh = refresh;
    reuse.full = full;
    return reuse;
}

// A copy in which some image tokens of one image are others.
cv::Mat changed(const cv::Mat& batch, int special, const std::vector<int>& tokens, unsigned seed,
                int image = 0) {
    cv::Mat next = batch.clone();
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 1);
    for (int t : tokens)
        for (int d = 0; d < batch.size[2]; ++d)
            next.ptr<float>(image, special + t)[d] = normal(random);
    return next;
}

std::vector<cv::Mat> unmerged(const EncoderCase& encoder, const cv::Mat& batch,
                              Precision precision = Precision::F32, const cv::Mat& keyBias = cv::Mat()) {
    Camera camera(encoder, std::nullopt, precision);
    camera.change([](Settings& s) { s.schedule = std::vector<int>(); });
    return camera.see(batch, keyBias);
}

void expectSame(const std::vector<cv::Mat>& a, const std::vector<cv::Mat>& b, const std::string& where) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
        EXPECT_TRUE(sameBits(a[i], b[i])) << where << ", output " << i;
}

std::vector<Precision> precisions() {
    std::vector<Precision> all = {Precision::F32, Precision::I8};
    if (kernels::hasBf16()) all.push_back(Precision::BF16);
    return all;
}

TEST(Reuse, FullForwardsEqualTheEncoderWithoutMerging) {
    for (Precision precision : precisions()) {
        for (const EncoderOptions& o : allKinds()) {
            const EncoderCase encoder = makeEncoder(o);
            const cv::Mat batch = makeBatch(o, 2, kTokens, 5);
            Camera camera(encoder, Reuse(), precision);
            expectSame(camera.see(batch), unmerged(encoder, batch, precision), "first frame");
            EXPECT_EQ(camera.reuse().state, ReuseState::Full);
            EXPECT_EQ(camera.reuse().recomputed, 1);
            EXPECT_EQ(ids(camera.report().images[1].map), identityMap(kTokens).ids);
            EXPECT_EQ(camera.report().images[0].tokens, std::vector<int>(o.blocks, kTokens));
        }
    }
}

// With one block there is no context of context: rows computed again are those of a full forward of the
// tokens as they were last computed.
TEST(Reuse, RowsComputedAgainAttendToAllThatIsRemembered) {
    for (Precision precision : precisions()) {
        for (EncoderOptions o : allKinds()) {
            o.blocks = 1, o.schedule = {}, o.taps = {}, o.tapNorm = {};
            const EncoderCase encoder = makeEncoder(o);
            Camera camera(encoder, exactly(0), precision);
            const cv::Mat before = makeBatch(o, 1, kTokens, 5);
            const cv::Mat first = camera.see(before)[0];
            const std::vector<int> tokens = {0, 7, 8, 9, 33, kTokens - 1};
            const cv::Mat now = changed(before, o.special, tokens, 9);
            const cv::Mat output = camera.see(now)[0], whole = unmerged(encoder, now, precision)[0];
            EXPECT_EQ(camera.reuse().state, ReuseState::Partial);
            EXPECT_DOUBLE_EQ(camera.reuse().recomputed, tokens.size() / double(kTokens));
            for (int r = 0; r < o.special + kTokens; ++r) {
                const bool again =
                    r < o.special || std::count(tokens.begin(), tokens.end(), r - o.special) > 0;
                const cv::Mat& wanted = again ? whole : first;
                EXPECT_EQ(std::memcmp(output.ptr<float>(0, r), wanted.ptr<float>(0, r), o.dim() * 4), 0) << r;
            }
        }
    }
}

TEST(Reuse, AStillSceneConvergesToTheFullForwardAndThenRests) {
    for (Precision precision : precisions()) {
        for (const EncoderOptions& o : allKinds()) {
            const EncoderCase encoder = makeEncoder(o);
            const int refresh = 4;
            Camera camera(encoder, exactly(refresh), precision);
            cv::Mat frame = makeBatch(o, 1, kTokens, 5);
            camera.see(frame);
            for (int i = 0; i < 6; ++i) {
                frame = changed(frame, o.special, {3 * i, 3 * i + 1, 50}, 100 + i);
                camera.see(frame);
            }
            const std::vector<cv::Mat> wanted = unmerged(encoder, frame, precision);
            std::vector<cv::Mat> seen;
            for (int i = 0; i < (o.blocks + 1) * refresh; ++i) {
                seen = camera.see(frame);
                double oldest = 0;
                cv::minMaxLoc(camera.reuse().ages, nullptr, &oldest);
                EXPECT_LE(oldest, refresh);
                EXPECT_GT(camera.reuse().recomputed, 0);
            }
            expectSame(seen, wanted, "converged");
            seen = camera.see(frame);
            expectSame(seen, wanted, "at rest");
            EXPECT_EQ(camera.reuse().recomputed, 0);
            camera.see(changed(frame, o.special, {1}, 7));
            EXPECT_EQ(camera.reuse().reasons.at<uchar>(1), static_cast<uchar>(ReuseReason::Changed));
        }
    }
}

TEST(Reuse, TheSameFramesGiveTheSameBitsInAnyBatchAndForAnyThreads) {
    const EncoderOptions o = options([](auto& p) { p.special = 2, p.rope = "half"; });
    const EncoderCase encoder = makeEncoder(o);
    Reuse reuse = exactly(6, 0.3);
    constexpr int kFrames = 24, kImages = 5;
    // Stream i changes more and more: some stay partial, some run full and are suspended.
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
                // Another order, and now and then an image less.
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

TEST(Reuse, SuspendedFramesRunTheModelsOwnSchedule) {
    const EncoderOptions o = options();
    const EncoderCase encoder = makeEncoder(o);
    Camera camera(encoder, exactly(30, 0.25)), plain(encoder, std::nullopt);
    for (int f = 0; f < 12; ++f) {
        const cv::Mat frame = makeBatch(o, 1, kTokens, 70 + f);
        const cv::Mat seen = camera.see(frame)[0];
        const ReuseState state = camera.reuse().state;
        EXPECT_EQ(state, f < 5 ? ReuseState::Full : ReuseState::Suspended) << f;
        if (state != ReuseState::Suspended) continue;
        EXPECT_TRUE(sameBits(seen, plain.see(frame)[0])) << f;
        EXPECT_EQ(camera.report().images[0].stages.size(), 1u);
    }
    const cv::Mat still = makeBatch(o, 1, kTokens, 99);
    camera.see(still);
    for (int f = 0; f < 3; ++f) {
        camera.see(still);
        EXPECT_EQ(camera.reuse().state, ReuseState::Suspended) << f;
    }
    camera.see(still);
    EXPECT_EQ(camera.reuse().state, ReuseState::Full);
    camera.see(still);
    EXPECT_EQ(camera.reuse().state, ReuseState::Partial);
}

TEST(Reuse, WhatInvalidatesAStreamMakesItsNextForwardFull) {
    const EncoderOptions o = options();
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat frame = makeBatch(o, 1, kTokens, 5);
    const cv::Mat bias(1, o.special + kTokens, CV_32F, cv::Scalar(0.25)), otherBias = bias * 2;
    Camera camera(encoder, exactly());
    const auto settle = [&] {
        for (int i = 0; i < 2; ++i)
            camera.see(frame, bias);
        ASSERT_EQ(camera.reuse().state, ReuseState::Partial);
    };
    settle();
    camera.see(frame, otherBias);
    EXPECT_EQ(camera.reuse().state, ReuseState::Full) << "key bias";
    settle();
    camera.runner().forget(3);
    camera.see(frame, bias);
    EXPECT_EQ(camera.reuse().state, ReuseState::Partial) << "another stream";
    camera.runner().forget(0);
    camera.see(frame, bias);
    EXPECT_EQ(camera.reuse().state, ReuseState::Full) << "forget";
    settle();
    camera.change([](Settings& s) { s.precision = Precision::I8; });
    camera.see(frame, bias);
    EXPECT_EQ(camera.reuse().state, ReuseState::Full) << "precision";
    settle();
    camera.change([](Settings& s) { s.reuse = exactly(7); });
    camera.see(frame, bias);
    EXPECT_EQ(camera.reuse().state, ReuseState::Full) << "settings";
    settle();
    camera.change([](Settings& s) { s.reuse = std::optional<Reuse>(); });
    camera.see(frame, bias);
    EXPECT_EQ(camera.reuse().state, ReuseState::Off);
    camera.change([](Settings& s) { s.reuse = exactly(7); });
    camera.see(frame, bias);
    EXPECT_EQ(camera.reuse().state, ReuseState::Full) << "off and on";
    settle();
    camera.see(makeBatch(o, 1, kTokens - 10, 5));
    EXPECT_EQ(camera.reuse().state, ReuseState::Full) << "size";
}

TEST(Reuse, FramesThatAreNotFiniteLeaveTheMemoryAlone) {
    const EncoderOptions o = options();
    const EncoderCase encoder = makeEncoder(o);
    for (int row : {0, o.special + 3}) {
        for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            Camera camera(encoder, exactly());
            const cv::Mat frame = makeBatch(o, 1, kTokens, 5);
            camera.see(frame);
            cv::Mat broken = frame.clone();
            broken.ptr<float>(0, row)[2] = bad;
            camera.see(broken);
            EXPECT_EQ(camera.reuse().state, ReuseState::Full);
            expectSame(camera.see(frame), unmerged(encoder, frame), "after it");
            EXPECT_EQ(camera.reuse().state, ReuseState::Full);
            camera.see(frame);
            EXPECT_EQ(camera.reuse().state, ReuseState::Partial);
        }
    }
}

TEST(Reuse, TheBudgetTakesTheLargestChangesAndPostponesTheRest) {
    const EncoderOptions o = options();
    const EncoderCase encoder = makeEncoder(o);
    Reuse reuse = exactly(0, 1);
    reuse.budget = 3.0 / kTokens + 1e-9;
    Camera camera(encoder, reuse);
    cv::Mat frame = makeBatch(o, 1, kTokens, 5);
    camera.see(frame);
    const std::vector<int> order = {40, 2, 31, 17, 9};  // by how much they change
    for (size_t i = 0; i < order.size(); ++i)
        frame.ptr<float>(0, o.special + order[i])[0] += static_cast<float>(10 - i);
    const auto reasonsAfter = [&] {
        camera.see(frame);
        std::vector<ReuseReason> found;
        for (int t : order)
            found.push_back(static_cast<ReuseReason>(camera.reuse().reasons.at<uchar>(t)));
        return found;
    };
    constexpr auto kKept = ReuseReason::Kept, kNow = ReuseReason::Changed, kLater = ReuseReason::Postponed;
    EXPECT_EQ(reasonsAfter(), (std::vector<ReuseReason>{kNow, kNow, kNow, kLater, kLater}));
    EXPECT_EQ(reasonsAfter(), (std::vector<ReuseReason>{kKept, kKept, kKept, kNow, kNow}));
    EXPECT_EQ(reasonsAfter(), (std::vector<ReuseReason>(5, kKept)));
}

// Noise that is the same everywhere is no change; a token that differs by more is.
TEST(Reuse, NoiseIsEstimatedAndObjectsAreSeenThroughIt) {
    const EncoderOptions o =
        options([](auto& p) { p.special = 1, p.heads = 3, p.headSize = 32, p.hidden = 64; });
    const EncoderCase encoder = makeEncoder(o);
    for (float noise : {0.02f, 0.3f}) {
        Reuse reuse;
        reuse.refresh = 0;
        Camera camera(encoder, reuse);
        const cv::Mat scene = makeBatch(o, 1, 400, 5);
        std::mt19937 random(3);
        std::normal_distribution<float> normal(0, noise);
        const auto shot = [&] {
            cv::Mat frame = scene.clone();
            for (size_t i = 0; i < frame.total(); ++i)
                frame.ptr<float>()[i] += normal(random);
            return frame;
        };
        double sum = 0;
        for (int f = 0; f < 30; ++f) {
            camera.see(shot());
            if (f >= 2) sum += camera.reuse().recomputed;
        }
        EXPECT_LT(sum / 28, 0.01) << noise;
        cv::Mat frame = shot();
        for (int d = 0; d < o.dim(); ++d)
            frame.ptr<float>(0, o.special + 123)[d] += 4 * noise * normal(random) / noise;
        camera.see(frame);
        EXPECT_EQ(camera.reuse().reasons.at<uchar>(123), static_cast<uchar>(ReuseReason::Changed)) << noise;
    }
}

TEST(Reuse, ADecoderFollowsTheEncoderBeforeIt) {
    const EncoderOptions o = options(),
                         after = options([](auto&p) { p.blocks = 2, p.seed = 9, p.schedule = {}; });
    const EncoderCase encoder = makeEncoder(o);
    EncoderCase decoder = makeEncoder(after);
    decoder.config.merges = false;
    const int refresh = 4;
    Camera first(encoder, exactly(refresh)), second(decoder, std::nullopt);
    cv::Mat frame = makeBatch(o, 1, kTokens, 5);
    const auto see = [&] { return second.see(first.see(frame)[0])[0]; };
    see();
    EXPECT_EQ(second.reuse().state, ReuseState::Full);
    for (int i = 0; i < 5; ++i) {
        frame = changed(frame, o.special, {2 * i, 30}, 50 + i);
        see();
        EXPECT_EQ(second.reuse().state, ReuseState::Partial);
        EXPECT_LT(second.reuse().recomputed, 0.4);
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
    EXPECT_EQ(stateOf(16), ReuseState::Partial);  // the 64 used last are 16..79
    EXPECT_EQ(stateOf(15), ReuseState::Full);
}

TEST(Reuse, MistakesOfTheCallerAreErrors) {
    const EncoderOptions o = options();
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat frame = makeBatch(o, 2, kTokens, 5);
    const auto message = [&](const std::function<void(Settings&)>& change) {
        Camera camera(encoder, Reuse());
        camera.change(change);
        try {
            camera.see(frame);
        } catch (const cv::Exception& e) {
            return e.err;
        }
        return std::string();
    };
    EXPECT_EQ(message([](Settings& s) { s.streams = {4}; }),
              "mpm: setStreams named 1 streams for a batch of 2 images");
    EXPECT_EQ(message([](Settings& s) { s.imposed[0] = {identityMap(kTokens)}; }),
              "mpm: setMaps and reuse over time exclude each other; call clearMaps or turn reuse off");
    EXPECT_EQ(message([](Settings&) {}), "");
}

TEST(Reuse, OptionsAreReadFromText) {
    EXPECT_FALSE(reuseFrom("off"));
    EXPECT_TRUE(sameReuse(*reuseFrom("on"), Reuse()));
    const Reuse reuse = *reuseFrom("refresh=12,full=0.5,exact=1,sensitivity=2,floor=0.01,budget=0.25");
    EXPECT_EQ(reuse.refresh, 12);
    EXPECT_EQ(reuse.full, 0.5);
    EXPECT_TRUE(reuse.exact);
    EXPECT_EQ(reuse.sensitivity, 2);
    EXPECT_EQ(reuse.floor, 0.01);
    EXPECT_EQ(reuse.budget, 0.25);
    for (const char* wrong :
         {"", "of", "refresh", "refresh=", "refresh=-1", "refresh=1.5", "full=2", "full=x", "full=nan",
          "budget=-0.1", "exact=2", "sensitivity=-1", "floor=-2", "speed=1", "refresh=1,,", "on,refresh=2"})
        EXPECT_THROW(reuseFrom(wrong), cv::Exception) << wrong;
}

}  // namespace
}  // namespace mpm::test
