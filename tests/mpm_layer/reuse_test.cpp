// Tests reuse in the encoder: which rows are computed, and whether all rows are right.
#include <limits>

#include "mpm_layer/encoder/reuse/plan.hpp"
#include "mpm_layer/reuse_suite.hpp"

namespace mpm::test {
namespace {

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

// In an encoder of a single block, keys and values depend only on the input tokens. So computed rows have the
// bits of a full forward, and rows that are not computed keep the bits of the previous frame.
TEST(Reuse, RowsComputedAgainAttendToAllThatIsRemembered) {
    for (Precision precision : precisions()) {
        for (EncoderOptions o : allKinds()) {
            o.blocks = 1, o.schedule = {}, o.taps = {}, o.tapNorm = {};
            if (!o.globalBlocks.empty()) o.globalBlocks = {0};
            const int special = o.specialRows();
            const EncoderCase encoder = makeEncoder(o);
            Camera camera(encoder, exactly(0), precision);
            const cv::Mat before = makeBatch(o, 1, kTokens, 5);
            const cv::Mat first = camera.see(before)[0];
            const std::vector<int> tokens = {0, 7, 8, 9, 33, kTokens - 1};
            const cv::Mat now = changed(before, special, tokens, 9);
            const cv::Mat output = camera.see(now)[0], whole = unmerged(encoder, now, precision)[0];
            EXPECT_EQ(camera.reuse().state, ReuseState::Partial);
            EXPECT_DOUBLE_EQ(camera.reuse().recomputed, tokens.size() / double(kTokens));
            for (int r = 0; r < special + kTokens; ++r) {
                const bool again = r < special || std::count(tokens.begin(), tokens.end(), r - special) > 0;
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
                frame = changed(frame, o.specialRows(), {3 * i, 3 * i + 1, 50}, 100 + i);
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
            camera.see(changed(frame, o.specialRows(), {1}, 7));
            EXPECT_EQ(camera.reuse().reasons.at<uchar>(1), static_cast<uchar>(ReuseReason::Changed));
        }
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

TEST(Reuse, AnEncoderWithoutImageTokensComputesItsOthers) {
    const EncoderOptions o = options([](auto& p) { p.imageTokens = 0, p.special = 3, p.schedule = {}; });
    const EncoderCase encoder = makeEncoder(o);
    Camera camera(encoder, Reuse());
    for (const unsigned seed : {5u, 6u, 7u}) {
        const cv::Mat frame = makeBatch(o, 1, 0, seed);
        expectSame(camera.see(frame), unmerged(encoder, frame), "frame");
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
    const std::vector<int> order = {40, 2, 31, 17, 9};  // sorted by change, largest first
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

// The output of a token that stops changing becomes stale while its neighbours change, so the token is
// computed again.
TEST(Reuse, TokensThatStopChangingAreComputedAgainSoonAndThenRarely) {
    const EncoderOptions o = options();
    Camera camera(makeEncoder(o), exactly(60, 0.9));
    cv::Mat frame = makeBatch(o, 1, kTokens, 5);
    for (int f = 0; f < 20; ++f)
        camera.see(frame);
    std::vector<int> again(kTokens),
        soon(kTokens);  // refreshes of each token: `again` from frame 6 on, `soon` in frames 6 to 13
    for (int f = 0; f < 30; ++f) {
        // Tokens 50 to 53 change in the first six frames. In each frame, two of tokens 0 to 3 change.
        frame =
            changed(frame, o.special, f < 6 ? std::vector<int>{50, 51, 52, 53} : std::vector<int>{}, 100 + f);
        frame = changed(frame, o.special, {f % 2, 2 + f % 2}, 200 + f);
        camera.see(frame);
        for (int t = 0; t < kTokens; ++t) {
            again[t] +=
                f >= 6 && camera.reuse().reasons.at<uchar>(t) == static_cast<uchar>(ReuseReason::Refreshed);
            if (f < 14) soon[t] = again[t];
        }
    }
    for (const int moved : {50, 51, 52, 53}) {
        EXPECT_GE(soon[moved], 1) << moved;
        EXPECT_LE(again[moved], 8) << moved;
    }
    EXPECT_GE(*std::min_element(again.begin() + 50, again.begin() + 54),
              *std::max_element(again.begin() + 10, again.begin() + 50));
}

// Tokens that do not change are computed once in `refresh` frames, not more often if other tokens change.
TEST(Reuse, TokensThatChangeTakeNoTurnOfTheOthers) {
    constexpr int kRefresh = 12, kMoving = 24, kFrames = 120;
    const EncoderOptions o = options();
    Camera camera(makeEncoder(o), exactly(kRefresh, 0.9));
    cv::Mat frame = makeBatch(o, 1, kTokens, 5);
    camera.see(frame);
    std::vector<int> moving(kMoving);
    std::iota(moving.begin(), moving.end(), 0);
    double refreshed = 0;
    for (int f = 0; f < kFrames; ++f) {
        frame = changed(frame, o.special, moving, 100 + f);
        camera.see(frame);
        for (int t = 0; t < kTokens; ++t) {
            const auto why = static_cast<ReuseReason>(camera.reuse().reasons.at<uchar>(t));
            refreshed += f > kRefresh && t >= kMoving && why == ReuseReason::Refreshed;
            EXPECT_LE(camera.reuse().ages.at<int>(t), kRefresh);
        }
    }
    const double still = kTokens - kMoving, turns = static_cast<double>(kFrames - kRefresh) / kRefresh;
    EXPECT_GE(refreshed, still * (turns - 1.5));
    EXPECT_LE(refreshed, still * (turns + 1.5)) << "the oldest of all would be " << kTokens * turns;
}

TEST(Reuse, AfterMuchChangedHalfOfTheRestIsComputedAgain) {
    const EncoderOptions o = options();
    Camera camera(makeEncoder(o), exactly(60, 0.5));
    cv::Mat frame = makeBatch(o, 1, kTokens, 5);
    camera.see(frame);
    camera.see(frame);
    EXPECT_EQ(camera.reuse().recomputed, 0);  // the first frame does not count as a change
    std::vector<int> most(kTokens - 10);
    std::iota(most.begin(), most.end(), 0);
    frame = changed(frame, o.special, most, 7);
    camera.see(frame);
    EXPECT_EQ(camera.state(), ReuseState::Full);
    camera.see(frame);
    EXPECT_EQ(camera.reuse().recomputed, 0.5);
}

// Uniform noise does not count as a change. A token that differs by more than the noise has changed.
TEST(Reuse, NoiseIsEstimatedAndObjectsAreSeenThroughIt) {
    const EncoderOptions o =
        options([](auto& p) { p.special = 1, p.heads = 3, p.headSize = 32, p.hidden = 64; });
    const EncoderCase encoder = makeEncoder(o);
    for (float noise : {0.04f, 0.3f}) {
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

// Noise grows with light, but no single element of a token measures light. A difference that is noise in the
// brightest tokens must count as a change in the darkest tokens.
TEST(Reuse, NoiseThatGrowsWithLightIsLearned) {
    const EncoderOptions o = options([](auto& p) { p.heads = 3, p.headSize = 32, p.hidden = 64; });
    constexpr int kMany = 400, kDark = 292, kBright = 281;
    Reuse reuse;
    reuse.refresh = 0;
    Camera camera(makeEncoder(o), reuse);
    cv::Mat scene = makeBatch(o, 1, kMany, 5);
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 1);
    const auto lightOf = [](int t) { return static_cast<float>(t * 37 % kMany) / kMany; };
    for (int t = 0; t < kMany; ++t)
        for (int d = 0; d < o.dim(); ++d)
            scene.ptr<float>(0, o.special + t)[d] += 0.6f * lightOf(t) * static_cast<float>(d % 2 ? 1 : -1);
    const auto shot = [&] {
        cv::Mat frame = scene.clone();
        for (int t = 0; t < kMany; ++t)
            for (int d = 0; d < o.dim(); ++d)
                frame.ptr<float>(0, o.special + t)[d] += (0.1f + 0.2f * lightOf(t)) * normal(random);
        return frame;
    };
    double sum = 0;
    for (int f = 0; f < 40; ++f) {
        camera.see(shot());
        if (f >= 2) sum += camera.reuse().recomputed / 38;
    }
    EXPECT_LT(sum, 0.005);
    cv::Mat frame = shot();
    for (int t : {kDark, kBright})
        for (int d = 0; d < o.dim(); ++d)
            frame.ptr<float>(0, o.special + t)[d] += 0.25f * normal(random);
    camera.see(frame);
    EXPECT_EQ(camera.reuse().reasons.at<uchar>(kDark), static_cast<uchar>(ReuseReason::Changed));
    EXPECT_EQ(camera.reuse().reasons.at<uchar>(kBright), static_cast<uchar>(ReuseReason::Kept));
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
