// Finds the encoders in the exports of the fixtures, and compares them with the expected sizes and options.
#include <gtest/gtest.h>

#include "models/onnx/io/read.hpp"
#include "models/onnx/match/match.hpp"
#include "models/onnx/passes/passes.hpp"
#include "support/npy.hpp"
#include "support/shared.hpp"

namespace {

using namespace mpm;

struct Case {
    const char* name;
    int blocks, heads, special;
    int64_t tokens, dim, rows, columns;
    size_t encoders;
    bool rope, gated, innerNorm, finalNorm;
};

void PrintTo(const Case& c, std::ostream* to) {
    *to << c.name;
}

class MatchesFixture : public testing::TestWithParam<Case> {};

TEST_P(MatchesFixture, AsItWasBuilt) {
    const Case& c = GetParam();
    const std::string base = mpm::test::sharedDir() + "/fixtures/" + c.name;
    if (!test::fileExists(base + ".onnx")) GTEST_SKIP() << base << ".onnx is not here";
    models::Graph graph = models::readModel(base + ".onnx");
    const test::Npy input = test::readNpy(base + ".input.npy");
    const models::Tensor image(models::Type::Float, models::Shape(input.shape.begin(), input.shape.end()));
    models::fold(graph, models::infer(graph, {image}));
    models::normalise(graph, models::infer(graph, {image}));
    const models::Match match = models::findEncoders(graph, models::infer(graph, {image}), true);
    for (const std::string& reason : match.reasons)
        ADD_FAILURE() << reason;
    ASSERT_EQ(match.encoders.size(), c.encoders);
    const models::EncoderSpec* encoder = match.backbone();
    ASSERT_NE(encoder, nullptr);
    EXPECT_EQ(encoder->blocks.size(), static_cast<size_t>(c.blocks));
    EXPECT_EQ(encoder->heads(), c.heads);
    EXPECT_EQ(encoder->special, c.special);
    EXPECT_EQ(encoder->tokens, c.tokens);
    EXPECT_EQ(encoder->dim, c.dim);
    EXPECT_EQ(encoder->gridRows, c.rows);
    EXPECT_EQ(encoder->gridColumns, c.columns);
    EXPECT_EQ(encoder->norm.present(), c.finalNorm);
    EXPECT_EQ(encoder->taps.size(), 1u);
    for (const models::Block& block : encoder->blocks) {
        EXPECT_EQ(block.attention.rope.has_value(), c.rope);
        EXPECT_EQ(block.mlp.gate.present(), c.gated);
        EXPECT_EQ(block.mlp.inner.present(), c.innerNorm);
        EXPECT_EQ(block.mlp.activation, c.gated ? "silu" : "gelu");
    }
}

INSTANTIATE_TEST_SUITE_P(
    Models, MatchesFixture,
    testing::Values(Case{"segmenter_mask", 12, 2, 1, 81, 64, 8, 10, 2, false, false, false, true},
                    Case{"segmenter_linear", 12, 2, 1, 81, 64, 8, 10, 1, false, false, false, true},
                    Case{"segmenter_deit_dynamic", 12, 2, 2, 66, 64, 8, 8, 2, false, false, false, true},
                    Case{"timm_vit", 12, 2, 1, 81, 64, 8, 10, 1, false, false, false, true},
                    Case{"timm_deit3_layerscale", 12, 2, 1, 81, 64, 10, 8, 1, false, false, false, true},
                    Case{"timm_dinov2", 12, 2, 1, 81, 64, 8, 10, 1, false, false, false, true},
                    Case{"timm_eva02_rotary", 12, 3, 1, 81, 96, 8, 10, 1, true, true, false, false}),
    [](const auto& model) { return std::string(model.param.name); });

}  // namespace
