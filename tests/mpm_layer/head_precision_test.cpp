// Products behind an encoder that runs in a lower precision.
#include <cmath>

#include "dnn_fixture.hpp"

namespace mpm::test {
namespace {

class HeadPrecision : public DnnTest {
protected:
    static constexpr int kTokens = 48;

    HeadPrecision() { m_options.special = 0, m_options.blocks = 1; }

    /// `head` reads the tokens "z" [images, kTokens, dim].
    OnnxModel behindEncoder(int images, const std::function<void(OnnxModel&)>& head) const {
        OnnxModel model;
        model.input("tokens", {images, kTokens, m_options.dim()});
        addEncoder(model, makeEncoder(m_options), {"tokens"}, {"z"});
        head(model);
        return model;
    }

    std::vector<cv::Mat> run(const OnnxModel& model, const cv::Mat& tokens, Precision precision,
                             const std::vector<cv::String>& names) {
        cv::dnn::Net net = load(model);
        encoder(net).setDevice(Device::Cpu);
        encoder(net).setPrecision(precision);
        net.setInput(tokens);
        std::vector<cv::Mat> outputs;
        net.forward(outputs, names);
        for (cv::Mat& m : outputs)
            m = m.clone();
        return outputs;
    }

    EncoderOptions m_options;
};

TEST_F(HeadPrecision, ATransposedConvolutionStaysInF32IfItsFileSaysSo) {
    constexpr int kOuts = 12;
    const cv::Mat weight = randomMatrix(4 * kOuts, kTokens, 3);
    const OnnxModel model = behindEncoder(1, [&](OnnxModel& m) {
        m.constant("shape", std::vector<long long>{1, kTokens, 4, 6}).node("Reshape", {"z", "shape"}, {"x"});
        m.constant("weight", weight);
        m.node("MpmConvTranspose", {"x", "weight"}, {"low"}, "mpm").ints("window", {2, 2});
        m.node("MpmConvTranspose", {"x", "weight"}, {"kept"}, "mpm").ints("window", {2, 2});
        m.attribute("precision", std::string("f32"));
        m.constant("kernel", cv::repeat(weight, 4, 1));
        for (const char* name : {"wide", "wide kept"}) {
            m.node("MpmConvTranspose", {"x", "kernel"}, {name}, "mpm")
                .ints("window", {2, 2})
                .ints("kernel", {4, 4})
                .ints("padding", {1, 1});
            if (name != std::string("wide")) m.attribute("precision", std::string("f32"));
            m.output(name, {1, kOuts, 8, 12});
        }
        m.output("x", {1, kTokens, 4, 6}).output("low", {1, kOuts, 8, 12}).output("kept", {1, kOuts, 8, 12});
    });
    const std::vector<cv::Mat> found = run(model, makeBatch(m_options, 1, kTokens, 5), Precision::I8,
                                           {"x", "low", "kept", "wide", "wide kept"});
    const cv::Mat products = weight * found[0].reshape(1, kTokens);
    double low = 0, kept = 0;
    for (int out = 0; out < kOuts; ++out) {
        for (int k = 0; k < 8 * 12; ++k) {
            const int y = k / 12, x = k % 12, row = out * 4 + y % 2 * 2 + x % 2;
            const float right = products.at<float>(row, y / 2 * 6 + x / 2);
            low = std::max<double>(low, std::abs(found[1].ptr<float>(0, out)[k] - right));
            kept = std::max<double>(kept, std::abs(found[2].ptr<float>(0, out)[k] - right));
        }
    }
    EXPECT_LT(kept, 1e-4);
    EXPECT_GT(low, 1e-3);
    const double away = cv::norm(found[3].reshape(1, 1), found[4].reshape(1, 1), cv::NORM_INF);
    EXPECT_GT(away, 1e-3);
    EXPECT_LT(away, 0.05 * cv::norm(found[4].reshape(1, 1), cv::NORM_INF));
}

}  // namespace
}  // namespace mpm::test
