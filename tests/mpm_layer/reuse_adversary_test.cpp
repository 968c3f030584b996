// Difficult scenes for reuse: fades, cuts, flicker, moving cameras, growing noise, repeated frames.
#include <cmath>

#include "mpm_layer/reuse_suite.hpp"

namespace mpm::test {
namespace {

constexpr int kMany = 400;

// A scene of random tokens. shot() returns a frame of the scene with noise.
class Scene {
public:
    Scene() : m_options(options([](auto& p) { p.heads = 3, p.headSize = 32, p.hidden = 64; })) {
        m_options.imageTokens = kMany;
        still = makeBatch(m_options, 1, kMany, 5);
    }

    EncoderCase encoder() const { return makeEncoder(m_options); }
    int special() const { return m_options.special; }
    float* token(int t) { return still.ptr<float>(0, special() + t); }

    cv::Mat shot(float noise) {
        cv::Mat frame = still.clone();
        std::normal_distribution<float> normal(0, noise);
        for (size_t i = 0; noise > 0 && i < frame.total(); ++i)
            frame.ptr<float>()[i] += normal(m_random);
        return frame;
    }

    cv::Mat still;

private:
    EncoderOptions m_options;
    std::mt19937 m_random{3};
};

double oldest(const Camera& camera) {
    double age = 0;
    cv::minMaxLoc(camera.reuse().ages, nullptr, &age);
    return age;
}

// Runs some frames, and returns the mean share of tokens that are computed.
double meanShare(Camera& camera, Scene& scene, int frames, float noise) {
    double sum = 0;
    for (int f = 0; f < frames; ++f) {
        camera.see(scene.shot(noise));
        sum += camera.reuse().recomputed;
    }
    return sum / frames;
}

// Each step of the fade is too small to count as a change, so tokens are computed only because of `refresh`.
TEST(ReuseAdversary, ASlowFadeIsCaughtWithinRefreshFrames) {
    Scene scene;
    const EncoderCase encoder = scene.encoder();
    Reuse reuse;
    reuse.refresh = 8;
    Camera camera(encoder, reuse);
    camera.see(scene.still);
    double worst = 0;
    for (int f = 0; f < 60; ++f) {
        scene.still *= 0.997;
        const cv::Mat seen = camera.see(scene.still)[0];
        EXPECT_EQ(camera.state(), ReuseState::Partial) << f;
        EXPECT_LE(oldest(camera), reuse.refresh) << f;
        worst = std::max(worst, relativeError(seen, unmerged(encoder, scene.still)[0]));
    }
    EXPECT_LT(worst, 0.1) << "eight frames of the fade are 2.4 percent";
    cv::Mat seen;
    for (int f = 0; f < (encoder.config.blocks + 1) * reuse.refresh; ++f)
        seen = camera.see(scene.still)[0];
    EXPECT_TRUE(sameBits(seen, unmerged(encoder, scene.still)[0])) << "the fade ended";
}

TEST(ReuseAdversary, LightThatIsSwitchedOnAndACutAreFullForwards) {
    for (bool cut : {false, true}) {
        Scene scene;
        const EncoderCase encoder = scene.encoder();
        Camera camera(encoder, Reuse());
        meanShare(camera, scene, 20, 0.05f);
        ASSERT_EQ(camera.state(), ReuseState::Partial);
        scene.still = cut ? makeBatch(encoder.options, 1, kMany, 77) : cv::Mat(scene.still + 1);
        const cv::Mat frame = scene.shot(0.05f), seen = camera.see(frame)[0];
        EXPECT_EQ(camera.state(), ReuseState::Full);
        EXPECT_TRUE(sameBits(seen, unmerged(encoder, frame)[0]));
        for (int f = 0; f < 10; ++f) {
            camera.see(scene.shot(0.05f));
            EXPECT_EQ(camera.state(), ReuseState::Partial) << f;
        }
        EXPECT_LT(meanShare(camera, scene, 20, 0.05f), 0.06);
    }
}

// The difference of the first two frames may be noise or a change, so the second frame must be full.
TEST(ReuseAdversary, AChangeInTheSecondFrameIsNoNoise) {
    Scene scene;
    for (int t = 1; t < kMany; ++t)  // neighbours are alike, as in images
        for (int d = 0; d < 96; ++d)
            scene.token(t)[d] = 0.98f * scene.token(t - 1)[d] + 0.2f * scene.token(t)[d];
    const EncoderCase encoder = scene.encoder();
    Scene other;
    for (const cv::Mat& first : {cv::Mat(0 * scene.still), cv::Mat(scene.still + 1),
                                 cv::Mat(0.4 * scene.still), cv::Mat(-scene.still), other.still}) {
        Camera camera(encoder, Reuse());
        for (int round = 0; round < 2; ++round) {
            camera.runner().forget();
            camera.see(first);
            const cv::Mat frame = scene.shot(0.05f), seen = camera.see(frame)[0];
            EXPECT_EQ(camera.state(), ReuseState::Full);
            EXPECT_TRUE(sameBits(seen, unmerged(encoder, frame)[0]));
            for (int f = 0; f < 3; ++f)
                camera.see(scene.shot(0.05f));
            EXPECT_EQ(camera.state(), ReuseState::Partial);
        }
    }
}

TEST(ReuseAdversary, AFlickeringTokenIsComputedInEveryFrameAndNothingElseIs) {
    Scene scene;
    Reuse reuse;
    reuse.refresh = 0;
    Camera camera(scene.encoder(), reuse);
    meanShare(camera, scene, 10, 0.05f);
    for (int f = 0; f < 40; ++f) {
        for (int d = 0; d < 96; ++d)
            scene.token(123)[d] += f % 2 ? 1.5f : -1.5f;
        camera.see(scene.shot(0.05f));
        EXPECT_EQ(camera.state(), ReuseState::Partial);
        EXPECT_EQ(camera.reuse().reasons.at<uchar>(123), static_cast<uchar>(ReuseReason::Changed)) << f;
        EXPECT_LT(camera.reuse().recomputed, 0.02) << f;
    }
}

TEST(ReuseAdversary, AMovingCameraIsSuspendedAndResumesWhenItStops) {
    Scene scene;
    const EncoderCase encoder = scene.encoder();
    Camera camera(encoder, Reuse()), plain(encoder, std::nullopt);
    meanShare(camera, scene, 10, 0.05f);
    int suspended = 0;
    for (int f = 0; f < 20; ++f) {
        cv::Mat moved = scene.still.clone();
        for (int t = 0; t < kMany; ++t)
            std::copy_n(scene.token((t + 1) % kMany), 96, moved.ptr<float>(0, scene.special() + t));
        scene.still = moved;
        const cv::Mat frame = scene.shot(0.05f), seen = camera.see(frame)[0];
        if (camera.state() != ReuseState::Suspended) continue;
        ++suspended;
        EXPECT_TRUE(sameBits(seen, plain.see(frame)[0])) << "the model's own schedule";
    }
    EXPECT_GE(suspended, 15);
    for (int f = 0; f < 6; ++f)
        camera.see(scene.shot(0.05f));
    EXPECT_EQ(camera.state(), ReuseState::Partial) << "it stopped";
}

TEST(ReuseAdversary, NoiseThatGrowsSlowlyIsFollowed) {
    Scene scene;
    Camera camera(scene.encoder(), Reuse());
    float noise = 0.1f;
    double most = 0;
    for (int f = 0; f < 150; ++f) {
        noise *= 1.01f;
        camera.see(scene.shot(noise));
        if (f > 3) most = std::max(most, camera.reuse().recomputed);
    }
    EXPECT_LT(most, 0.08) << "3.3 percent are refreshed";
}

// If the noise suddenly becomes 4 times as large, the new noise counts as a change for some frames. If the
// noise becomes smaller, the estimate follows at once.
TEST(ReuseAdversary, NoiseThatJumpsIsLearned) {
    Scene scene;
    Camera camera(scene.encoder(), Reuse());
    meanShare(camera, scene, 10, 0.1f);
    camera.see(scene.shot(0.4f));
    EXPECT_EQ(camera.state(), ReuseState::Full);
    for (int f = 0; f < 120; ++f)
        camera.see(scene.shot(0.4f));
    EXPECT_LT(meanShare(camera, scene, 20, 0.4f), 0.08);
    for (int f = 0; f < 3; ++f)
        camera.see(scene.shot(0.02f));
    for (int d = 0; d < 96; ++d)
        scene.token(50)[d] += d % 2 ? 0.3f : -0.3f;
    camera.see(scene.shot(0.02f));
    EXPECT_EQ(camera.reuse().reasons.at<uchar>(50), static_cast<uchar>(ReuseReason::Changed));
}

// Repeated frames do not differ. Repetition must not reduce the estimate of the camera's noise to 0.
TEST(ReuseAdversary, FramesThatComeTwiceDoNotHideTheNoise) {
    Scene scene;
    Camera camera(scene.encoder(), Reuse());
    double sum = 0;
    int frames = 0;
    for (int f = 0; f < 60; ++f) {
        const cv::Mat frame = scene.shot(0.2f);
        for (int copy = 0; copy < 1 + f % 3; ++copy) {
            camera.see(frame);
            EXPECT_LE(oldest(camera), 30);
            if (f > 3) sum += camera.reuse().recomputed, ++frames;
        }
    }
    EXPECT_LT(sum / frames, 0.06);
}

TEST(ReuseAdversary, AFrozenCameraRestsAndWakes) {
    Scene scene;
    const EncoderCase encoder = scene.encoder();
    Reuse reuse;
    reuse.refresh = 5;
    Camera camera(encoder, reuse);
    meanShare(camera, scene, 10, 0.1f);
    const cv::Mat frozen = scene.shot(0.1f);
    cv::Mat seen;
    for (int f = 0; f <= (encoder.config.blocks + 1) * reuse.refresh + 1; ++f)
        seen = camera.see(frozen)[0];
    EXPECT_TRUE(sameBits(seen, unmerged(encoder, frozen)[0]));
    EXPECT_EQ(camera.reuse().recomputed, 0);
    EXPECT_LT(meanShare(camera, scene, 10, 0.1f), 0.3) << "the camera's noise is still known";
}

TEST(ReuseAdversary, AStreamThatChangesItsSizeStartsAnew) {
    Scene scene;
    const EncoderCase encoder = scene.encoder();
    Camera camera(encoder, Reuse());
    for (int f = 0; f < 12; ++f) {
        const int tokens = f % 4 < 2 ? kMany : 100 + f;
        const cv::Mat frame = makeBatch(encoder.options, 1, tokens, 9), seen = camera.see(frame)[0];
        EXPECT_EQ(camera.state(), f % 4 == 1 ? ReuseState::Partial : ReuseState::Full) << f;
        EXPECT_TRUE(sameBits(seen, unmerged(encoder, frame)[0])) << f;
        EXPECT_EQ(camera.reuse().reasons.total(), static_cast<size_t>(tokens));
    }
}

}  // namespace
}  // namespace mpm::test
