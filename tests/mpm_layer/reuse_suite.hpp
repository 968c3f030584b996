// Runs an encoder on consecutive frames, for tests of reuse.
#pragma once

#include <functional>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "mpm_layer/encoder/runner.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "support/encoder_case.hpp"
#include "support/random.hpp"

namespace mpm::test {

constexpr int kTokens = 60;

/// An encoder with the state of a stream: see() runs the next frame.
class Camera {
public:
    Camera(const EncoderCase& encoder, const std::optional<Reuse>& reuse,
           Precision precision = Precision::F32)
        : m_encoder(encoder),
          m_place(std::make_shared<NetworkPlace>()),
          m_control(m_place->join(encoder.config)),
          m_runner(m_control, encoder.config, m_place) {
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

    ReuseState state(int image = 0) const { return reuse(image).state; }
    ReuseReport reuse(int image = 0) const { return m_control->report().images.at(image).reuse; }
    Report report() const { return m_control->report(); }
    EncoderRunner& runner() { return m_runner; }

private:
    EncoderCase m_encoder;
    std::shared_ptr<NetworkPlace> m_place;
    std::shared_ptr<EncoderControl> m_control;
    EncoderRunner m_runner;
};

inline EncoderOptions options(const std::function<void(EncoderOptions&)>& change = [](EncoderOptions&) {}) {
    EncoderOptions o;
    o.imageTokens = kTokens;
    o.schedule = {1};
    change(o);
    return o;
}

/// Divides the grid of `kTokens` tokens into windows.
inline void divide(EncoderOptions& o, cv::Size window, const std::vector<int>& globalBlocks) {
    o.grid = {10, 6}, o.window = window, o.globalBlocks = globalBlocks;
    o.padding = o.grid.width % window.width != 0 || o.grid.height % window.height != 0;
}

/// Returns options of encoders. Together, they cover every option of blocks.
inline std::vector<EncoderOptions> allKinds() {
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
        options([](auto& o) { o.parallel = o.qkNorm = true, o.norm = o.innerNorm = NormKind::Rms; }),
        options([](auto& o) {
            divide(o, {5, 3}, {}), o.special = 2;
        }),
        options([](auto& o) {
            divide(o, {5, 2}, {1}), o.taps = {0, 2}, o.tapNorm = {0, 1};
            o.rope = "half", o.ropeOfWindow = true;
        }),
        options([](auto& o) {
            divide(o, {4, 4}, {0, 2}), o.headSize = 32, o.qkNorm = true;
            o.rope = "interleaved", o.ropeOfWindow = true;
        }),
        options([](auto& o) {
            divide(o, {7, 4}, {2}), o.special = 0;
        }),
    };
}

inline Reuse exactly(int refresh = 5, double full = 0.5) {
    Reuse reuse;
    reuse.exact = true;
    reuse.refresh = refresh;
    reuse.full = full;
    return reuse;
}

/// Returns a copy in which `tokens` (indices of image tokens) of an image have other values.
inline cv::Mat changed(const cv::Mat& batch, int special, const std::vector<int>& tokens, unsigned seed,
                       int image = 0) {
    cv::Mat next = batch.clone();
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 1);
    for (int t : tokens)
        for (int d = 0; d < batch.size[2]; ++d)
            next.ptr<float>(image, special + t)[d] = normal(random);
    return next;
}

inline std::vector<cv::Mat> unmerged(const EncoderCase& encoder, const cv::Mat& batch,
                                     Precision precision = Precision::F32,
                                     const cv::Mat& keyBias = cv::Mat()) {
    Camera camera(encoder, std::nullopt, precision);
    camera.change([](Settings& s) { s.schedule = std::vector<int>(); });
    return camera.see(batch, keyBias);
}

inline void expectSame(const std::vector<cv::Mat>& a, const std::vector<cv::Mat>& b,
                       const std::string& where) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
        EXPECT_TRUE(sameBits(a[i], b[i])) << where << ", output " << i;
}

inline std::vector<Precision> precisions() {
    std::vector<Precision> all = {Precision::F32, Precision::I8};
    if (kernels::hasBf16()) all.push_back(Precision::BF16);
    return all;
}

}  // namespace mpm::test
