// Converts exports, runs the models with OpenCV, and compares the results with references from PyTorch.
#include <filesystem>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "support/engine.hpp"
#include "support/npy.hpp"
#include "support/shared.hpp"

namespace {

using namespace mpm;

struct Case {
    const char* name;
    const char* schedule;
    std::vector<int> blocks;
    int images;
};

void PrintTo(const Case& c, std::ostream* to) {
    *to << c.name << " " << c.schedule;
}

std::string fixture(const std::string& name) {
    return mpm::test::sharedDir() + "/fixtures/" + name;
}

std::string scratch(const std::string& name) {
    return (std::filesystem::temp_directory_path() / ("mpm_convert_" + name + ".onnx")).string();
}

class ConvertsFixture : public testing::TestWithParam<Case> {};

TEST_P(ConvertsFixture, ToWhatPyTorchComputed) {
    const Case& c = GetParam();
    const std::string base = fixture(c.name);
    if (!test::fileExists(base + ".onnx")) GTEST_SKIP() << base << ".onnx is not here";
    const std::string path = scratch(std::string(c.name) + "_" + c.schedule);
    models::ConvertOptions options;
    options.blocks = c.blocks;
    const models::Conversion conversion = models::convertModel(base + ".onnx", path, options);
    EXPECT_EQ(conversion.schedule, c.blocks);
    EXPECT_LT(conversion.error, 1e-5);

    registerLayers();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
    net.setInput(test::readNpy(base + ".input.npy").mat());
    const cv::Mat output = net.forward();
    const std::string reference = base + ".s" + c.schedule;
    const cv::Mat expected = test::readNpy(reference + ".output.npy").mat();
    ASSERT_EQ(output.dims, expected.dims);
    ASSERT_EQ(output.total(), expected.total());
    const double largest = cv::norm(expected.reshape(1, 1), cv::NORM_INF);
    EXPECT_LT(cv::norm(output.reshape(1, 1), expected.reshape(1, 1), cv::NORM_INF), 1e-4 * largest);

    const Report report = encoder(net).report();
    ASSERT_EQ(report.images.size(), static_cast<size_t>(c.images));
    for (int b = 0; b < c.images && !c.blocks.empty(); ++b) {
        const cv::Mat map = test::readNpy(reference + ".map" + std::to_string(b) + ".npy").mat();
        ASSERT_EQ(report.images[b].map.total(), map.total());
        EXPECT_EQ(cv::norm(report.images[b].map.reshape(1, 1), map.reshape(1, 1), cv::NORM_INF), 0);
    }
    EXPECT_EQ(modelInfo(path).schedule, c.blocks);
    std::filesystem::remove(path);
}

class LayersForm : public testing::TestWithParam<const char*> {};

TEST_P(LayersForm, EqualsPyTorchWhereShapesAreDynamic) {
    if (!test::hasDynamicShapes()) GTEST_SKIP() << "this engine has fixed shapes";
    const std::string base = fixture(GetParam());
    if (!test::fileExists(base + ".onnx")) GTEST_SKIP() << base << ".onnx is not here";
    const std::string path = scratch(std::string(GetParam()) + "_layers");
    models::ConvertOptions options;
    options.form = models::Form::Layers;
    models::convertModel(base + ".onnx", path, options);
    const cv::Mat input = test::readNpy(base + ".input.npy").mat();
    const int first[] = {1, input.size[1], input.size[2], input.size[3]};
    registerLayers();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
    net.setInput(cv::Mat(4, first, CV_32F, input.data));
    const cv::Mat output = net.forward();
    const test::Npy reference = test::readNpy(base + ".s2_5.output.npy");
    ASSERT_EQ(output.total() * input.size[0], reference.floats.size());
    const cv::Mat expected(1, static_cast<int>(output.total()), CV_32F,
                           const_cast<float*>(reference.floats.data()));
    EXPECT_LT(cv::norm(output.reshape(1, 1), expected, cv::NORM_INF),
              1e-4 * cv::norm(expected, cv::NORM_INF));
    std::filesystem::remove(path);
}

TEST(Convert, TakesAnotherSizeAndABatchAtOnce) {
    const std::string base = fixture("segmenter_deit_dynamic");
    if (!test::fileExists(base + ".onnx")) GTEST_SKIP() << base << ".onnx is not here";
    const std::string path = scratch("size_and_batch");
    models::ConvertOptions options;
    options.size = {80, 96};
    options.batch = 2;
    models::convertModel(base + ".onnx", path, options);
    registerLayers();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
    const int shape[] = {2, 3, 96, 80};
    net.setInput(cv::Mat(4, shape, CV_32F, cv::Scalar(0.5)));
    const cv::Mat output = net.forward();
    EXPECT_EQ(output.size[0], 2);
    EXPECT_EQ(output.size[2], 96);
    EXPECT_EQ(output.size[3], 80);
    std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Models, LayersForm,
                         testing::Values("segmenter_mask", "segmenter_linear", "segmenter_deit_dynamic",
                                         "timm_vit", "timm_deit3_layerscale", "timm_dinov2",
                                         "timm_eva02_rotary"));

INSTANTIATE_TEST_SUITE_P(
    Models, ConvertsFixture,
    testing::Values(Case{"segmenter_mask", "none", {}, 1}, Case{"segmenter_mask", "0", {0}, 1},
                    Case{"segmenter_mask", "2_5", {2, 5}, 1}, Case{"segmenter_mask", "3_6_9", {3, 6, 9}, 1},
                    Case{"segmenter_linear", "none", {}, 1}, Case{"segmenter_linear", "2_5", {2, 5}, 1},
                    Case{"segmenter_deit_dynamic", "none", {}, 2},
                    Case{"segmenter_deit_dynamic", "2_5", {2, 5}, 2}, Case{"timm_vit", "none", {}, 1},
                    Case{"timm_vit", "2_5", {2, 5}, 1}, Case{"timm_deit3_layerscale", "none", {}, 1},
                    Case{"timm_deit3_layerscale", "2_5", {2, 5}, 1}, Case{"timm_dinov2", "none", {}, 1},
                    Case{"timm_dinov2", "2_5", {2, 5}, 1}, Case{"timm_eva02_rotary", "none", {}, 1},
                    Case{"timm_eva02_rotary", "2_5", {2, 5}, 1}),
    [](const auto& model) { return std::string(model.param.name) + "_" + model.param.schedule; });

}  // namespace
