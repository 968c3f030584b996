// Tests operators that multiply the output of an encoder in a lower precision than f32.
#include <cmath>
#include <cstring>

#include "dnn_fixture.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"

namespace mpm::test {
namespace {

class HeadPrecision : public DnnTest {
protected:
    static constexpr int kTokens = 48;

    HeadPrecision() { m_options.special = 0, m_options.blocks = 1; }

    /// Returns a model of an encoder and `head`. The head reads the encoder's output "z" [images, kTokens,
    /// dim].
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

class RowsBehindEncoder : public HeadPrecision {
protected:
    static constexpr int kOuts = 20;

    RowsBehindEncoder() : m_weight(randomMatrix(m_options.dim(), kOuts, 7)) {}

    OnnxModel model(int images, bool selects) const {
        return behindEncoder(images, [&](OnnxModel& m) {
            const int dim = m_options.dim();
            m.constant("weight", m_weight).node("MpmLinear", {"z", "weight"}, {"kept"}, "mpm");
            m.node("MpmLinear", {"z", "weight"}, {"rows"}, "mpm");
            m.attribute("precision", std::string("encoder"));
            m.output("z", {images, kTokens, dim}).output("rows", {images, kTokens, kOuts});
            m.output("kept", {images, kTokens, kOuts});
            if (!selects) return;
            m.constant("ones", cv::Mat(dim, 1, CV_32F, cv::Scalar(1)));
            m.node("MpmLinear", {"z", "ones"}, {"column"}, "mpm");
            m.constant("flat", std::vector<long long>{images, kTokens});
            m.node("Reshape", {"column", "flat"}, {"scores"});
            m.node("MpmTopK", {"scores"}, {"best"}, "mpm").attribute("k", 3);
            m.output("best", {images, 3});
        });
    }

    /// Returns "z", the product of "z" and a weight in the encoder's precision ("rows"), and the same product
    /// in f32 ("kept").
    std::vector<cv::Mat> rowsOf(const cv::Mat& tokens, Precision precision, bool selects) {
        std::vector<cv::String> names = {"z", "rows", "kept"};
        if (selects) names.push_back("best");
        return run(model(tokens.size[0], selects), tokens, precision, names);
    }

    /// Returns the largest difference between "rows" and "kept", relative to the largest value of "kept".
    double errorOf(Precision precision, bool selects = false) {
        const std::vector<cv::Mat> found = rowsOf(makeBatch(m_options, 1, kTokens, 9), precision, selects);
        return cv::norm(found[1].reshape(1, 1), found[2].reshape(1, 1), cv::NORM_INF) /
               cv::norm(found[2].reshape(1, 1), cv::NORM_INF);
    }

    cv::Mat m_weight;
};

TEST_F(RowsBehindEncoder, AreInBf16IfTheirFileSaysSo) {
    EXPECT_EQ(errorOf(Precision::F32), 0);
    for (const Precision precision : {Precision::BF16, Precision::I8}) {
        if (!kernels::hasBf16() && precision == Precision::BF16) continue;  // this processor lacks it
        const double error = errorOf(precision);
        EXPECT_EQ(error > 1e-5, kernels::hasBf16());
        EXPECT_LT(error, 1e-2);
        EXPECT_EQ(errorOf(precision, true), 0) << "a layer selects";
    }
}

TEST_F(RowsBehindEncoder, DoNotDependOnTheBatch) {
    const cv::Mat batch = makeBatch(m_options, 6, kTokens, 11);
    const std::vector<cv::Mat> all = rowsOf(batch, Precision::I8, false);
    const int sizes[] = {1, kTokens, m_options.dim()};
    for (const int image : {0, 5}) {
        const cv::Mat one(3, sizes, CV_32F, const_cast<float*>(batch.ptr<float>(image)));
        const std::vector<cv::Mat> found = rowsOf(one, Precision::I8, false);
        EXPECT_EQ(std::memcmp(found[1].data, all[1].ptr(image), found[1].total() * sizeof(float)), 0);
    }
}

// Multiplies few queries with many pixels, and many rows with few columns, in a batch and image by image.
TEST_F(HeadPrecision, ProductsOfABatchAreThoseOfItsImages) {
    const cv::Mat batch = makeBatch(m_options, 3, kTokens, 13);
    for (const int columns : {5, 200}) {
        const auto productsOf = [&](const cv::Mat& tokens, Precision precision) {
            const int images = tokens.size[0];
            return run(behindEncoder(images,
                                     [&](OnnxModel& m) {
                                         m.constant("pixels", randomMatrix(m_options.dim(), columns, 7));
                                         m.node("MpmMatMul", {"z", "pixels"}, {"y"}, "mpm");
                                         m.output("y", {images, kTokens, columns});
                                     }),
                       tokens, precision, {"y"})[0];
        };
        for (const Precision precision : {Precision::F32, Precision::BF16, Precision::I8}) {
            if (!kernels::hasBf16() && precision == Precision::BF16) continue;  // this processor lacks it
            const cv::Mat all = productsOf(batch, precision);
            const int sizes[] = {1, kTokens, m_options.dim()};
            for (int image = 0; image < 3; ++image) {
                const cv::Mat one(3, sizes, CV_32F, const_cast<float*>(batch.ptr<float>(image))),
                    found = productsOf(one, precision);
                EXPECT_EQ(std::memcmp(found.data, all.ptr(image), found.total() * sizeof(float)), 0)
                    << columns << " columns, image " << image << ", precision "
                    << static_cast<int>(precision);
            }
        }
    }
}

}  // namespace
}  // namespace mpm::test
