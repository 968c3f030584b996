// The plain evaluator against references that PyTorch computed.
#include <gtest/gtest.h>

#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/io/read.hpp"
#include "support/npy.hpp"
#include "support/shared.hpp"

namespace {

using namespace mpm;

class EvaluatesFixture : public testing::TestWithParam<const char*> {};

TEST_P(EvaluatesFixture, AsPyTorchDid) {
    const std::string base = mpm::test::sharedDir() + "/fixtures/" + GetParam();
    if (!test::fileExists(base + ".onnx")) GTEST_SKIP() << base << ".onnx is not here";
    const models::Graph graph = models::readModel(base + ".onnx");
    const test::Npy input = test::readNpy(base + ".input.npy");
    const test::Npy expected = test::readNpy(base + ".snone.output.npy");
    const models::Shape shape(input.shape.begin(), input.shape.end());
    const auto outputs = models::evaluate(graph, {models::Tensor::floats(shape, input.floats)});
    ASSERT_EQ(outputs.size(), 1u);
    ASSERT_EQ(outputs[0].shape(), models::Shape(expected.shape.begin(), expected.shape.end()));
    double worst = 0, largest = 0;
    for (size_t k = 0; k < expected.floats.size(); ++k) {
        worst = std::max<double>(worst, std::abs(outputs[0].f()[k] - expected.floats[k]));
        largest = std::max<double>(largest, std::abs(expected.floats[k]));
    }
    EXPECT_LT(worst, 2e-5 * largest);
}

INSTANTIATE_TEST_SUITE_P(Models, EvaluatesFixture,
                         testing::Values("segmenter_mask", "segmenter_linear", "segmenter_deit_dynamic",
                                         "timm_vit", "timm_deit3_layerscale", "timm_dinov2",
                                         "timm_eva02_rotary"),
                         [](const auto& model) { return std::string(model.param); });

}  // namespace
