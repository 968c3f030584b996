// Reuse with the shipped model on streams whose scene changes before the camera's noise is known. In each
// frame, nearly all labels must equal those of a network that computes all tokens.
#include <cstdlib>
#include <functional>

#include <gtest/gtest.h>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>

#include "pipeline/measure/reuse_counts.hpp"
#include "pipeline/segment/segmenter.hpp"
#include "street/street.hpp"

namespace mpm::pipeline {
namespace {

constexpr double kLeastAgreement = 0.9;
constexpr int kForget = 3;  // some scenes forget the stream before this frame

using Frames = std::vector<cv::Mat>;

struct Scene {
    std::string name;
    std::function<Frames(const Frames&)> frames;
    int forgetAt = -1;  ///< the stream is forgotten before this frame
};

cv::Mat dimmed(const cv::Mat& image, double light) {
    cv::Mat dark;
    image.convertTo(dark, -1, light);
    return dark;
}

cv::Mat flat(const cv::Mat& like, int value) {
    return cv::Mat(like.size(), like.type(), cv::Scalar::all(value));
}

cv::Mat noise(const cv::Mat& like, int seed) {
    cv::Mat image(like.size(), like.type());
    cv::RNG(static_cast<uint64_t>(seed)).fill(image, cv::RNG::UNIFORM, 0, 256);
    return image;
}

Frames before(const Frames& scene, const Frames& first) {
    Frames frames = first;
    frames.insert(frames.end(), scene.begin() + static_cast<long>(first.size()), scene.end());
    return frames;
}

// Returns the frames of the clip; light(i) is the brightness of frame i.
Frames lit(const Frames& scene, const std::function<double(int)>& light) {
    Frames frames;
    for (int i = 0; i < static_cast<int>(scene.size()); ++i)
        frames.push_back(dimmed(scene[i], light(i)));
    return frames;
}

std::vector<Scene> scenes() {
    const auto starts = [](const std::function<cv::Mat(const cv::Mat&)>& first) {
        return [first](const Frames& scene) { return before(scene, {first(scene[0])}); };
    };
    const auto dark = [](double light) {
        return [light](const cv::Mat& image) { return dimmed(image, light); };
    };
    return {
        {"black", starts([](const cv::Mat& s) { return flat(s, 0); })},
        {"white", starts([](const cv::Mat& s) { return flat(s, 255); })},
        {"limited black", starts([](const cv::Mat& s) { return flat(s, 16); })},
        {"grey", starts([](const cv::Mat& s) { return flat(s, 128); })},
        {"noise", starts([](const cv::Mat& s) { return noise(s, 1); })},
        {"three frames of noise",
         [](const Frames& s) {
             return before(s, {noise(s[0], 1), noise(s[0], 2), noise(s[0], 3)});
         }},
        {"dimmed to 0.2", starts(dark(0.2))},
        {"dimmed to 0.5", starts(dark(0.5))},
        {"dimmed to 0.75", starts(dark(0.75))},
        {"mirrored", starts([](const cv::Mat& s) {
             cv::Mat other;
             cv::flip(s, other, 1);
             return other;
         })},
        {"fade in", [](const Frames& s) { return lit(s, [](int i) { return std::min(1.0, 0.25 * i); }); }},
        {"flicker", [](const Frames& s) { return lit(s, [](int i) { return i % 2 ? 0.6 : 1; }); }},
        {"slow flicker", [](const Frames& s) { return lit(s, [](int i) { return i % 3 ? 0.5 : 1; }); }},
        {"light switch", [](const Frames& s) { return lit(s, [](int i) { return i < kForget ? 0.4 : 1; }); }},
        {"forgotten, then black",
         [](const Frames& s) {
             Frames frames = s;
             frames[kForget] = flat(s[0], 0);
             return frames;
         },
         kForget},
        {"forgotten, then dimmed",
         [](const Frames& s) { return lit(s, [](int i) { return i == kForget ? 0.5 : 1; }); }, kForget},
    };
}

class Watched {
public:
    Watched() : m_all("default"), m_reuse("default") {
        for (Network* network : {&m_all, &m_reuse})
            network->encoder().setDevice(Device::Cpu);
        m_all.encoder().setSchedule({});
        m_reuse.encoder().setReuse(Reuse());
    }

    double agreement(const cv::Mat& image) {
        const cv::Mat blob = m_all.blob({image});
        const cv::Size size = m_all.info().size;
        return shareOfEqual(wanted(image, blob), labelsOf(m_reuse.forward(blob), 0, size));
    }

    void forget() { m_reuse.encoder().forget(); }

private:
    // Returns the labels that a network without reuse gives. Keeps the labels, because scenes share frames.
    const cv::Mat& wanted(const cv::Mat& image, const cv::Mat& blob) {
        for (const auto& [seen, labels] : m_wanted)
            if (cv::norm(seen, image, cv::NORM_INF) == 0) return labels;
        const cv::Mat labels = labelsOf(m_all.forward(blob), 0, m_all.info().size).clone();
        return m_wanted.emplace_back(image.clone(), labels).second;
    }

    Network m_all, m_reuse;
    std::vector<std::pair<cv::Mat, cv::Mat>> m_wanted;  ///< images, and their labels without reuse
};

void expectAgreement(const Frames& clip) {
    Watched watched;
    for (const Scene& scene : scenes()) {
        watched.forget();
        const Frames frames = scene.frames(clip);
        for (int i = 0; i < static_cast<int>(frames.size()); ++i) {
            if (i == scene.forgetAt) watched.forget();
            EXPECT_GE(watched.agreement(frames[i]), kLeastAgreement) << scene.name << ", frame " << i;
        }
    }
}

TEST(ReuseScenes, OfTheStreet) {
    Frames clip;
    street::Clip street({640, 480}, street::clipLight("day"), 5, 7001);
    for (int number = 0; number < 6; ++number)
        clip.push_back(street.frame(number).image);
    expectAgreement(clip);
}

TEST(ReuseScenes, OfAVideo) {
    const char* path = std::getenv("MPM_TEST_VIDEO");
    cv::VideoCapture capture(path ? path : "/usr/share/doc/opencv-doc/examples/data/vtest.avi");
    if (!path && !capture.isOpened())
        GTEST_SKIP() << "no vtest.avi: install opencv-doc or set MPM_TEST_VIDEO";
    Frames clip;
    for (cv::Mat image; clip.size() < 12 && capture.read(image);)
        clip.push_back(image.clone());
    ASSERT_EQ(clip.size(), 12U);
    expectAgreement(clip);
}

}  // namespace
}  // namespace mpm::pipeline
