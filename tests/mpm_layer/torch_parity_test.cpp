// Compares the layer with LibTorch, at the widths and depths of published models.
#include <gtest/gtest.h>

#include <mpm/mpm.hpp>

#include "mpm_layer/torch_encoder.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

Ran run(const EncoderCase& encoder, const cv::Mat& batch, const cv::Mat& bias,
        const std::map<int, std::vector<MergeMap>>& imposed = {}, Precision precision = Precision::F32) {
    SessionInput input;
    input.tokens = batch;
    input.keyBias = bias;
    return runEncoder(encoder, input, [&](Settings& s) { s.imposed = imposed, s.precision = precision; });
}

void expectParity(const EncoderOptions& options, const cv::Mat& bias = cv::Mat()) {
    torch::NoGradGuard guard;
    const EncoderCase encoder = makeEncoder(options);
    const cv::Mat batch = makeBatch(options, 1, options.imageTokens, 11);
    const Tensor keyBias = bias.empty() ? Tensor() : tensorOf(bias).reshape({-1});
    const auto expected = TorchEncoder(encoder).run(tensorOf(imageOf(batch, 0)), keyBias, {});
    Ran ran = run(encoder, batch, bias);
    // If nearly equal similarities make a map differ, later maps differ, too. The encoder then runs again
    // with LibTorch's maps, and the outputs must agree.
    std::map<int, std::vector<MergeMap>> imposed;
    bool agree = true;
    for (size_t s = 0; s < expected.merges.size(); ++s) {
        const MergeMap map{expected.merges[s].map, expected.merges[s].clusters};
        imposed[static_cast<int>(s)] = {map};
        const bool same = sameBits(ran.report.images[0].stages[s].map, toMat(map));
        if (agree && !same) {
            EXPECT_LT(expected.merges[s].margin, 2e-5)
                << "stage " << s << " differs though no token is undecided";
        }
        agree = agree && same;
    }
    if (!agree) ran = run(encoder, batch, bias, imposed);
    for (size_t t = 0; t < expected.taps.size(); ++t) {
        EXPECT_LT(relativeError(imageOf(ran.outputs[t], 0), matOf(expected.taps[t])), 1e-4) << "tap " << t;
    }
}

TEST(TorchParity, OneMergeOnTheSameTokens) {
    for (const auto& [n, dim] :
         std::vector<std::pair<int, int>>{{2, 8}, {65, 192}, {1024, 192}, {900, 384}, {1024, 768}}) {
        for (unsigned seed = 0; seed < 4; ++seed) {
            const cv::Mat tokens = randomTokens(n, dim, seed);
            const TorchMerge expected = torchMerge(tensorOf(tokens));
            const Merged merged = mergeTokens(tokens, 0);
            const std::vector<int> map(merged.map.ptr<int>(), merged.map.ptr<int>() + n);
            const Rows rows = toRows(tokens);
            const std::vector<int> ours = partners(map), theirs = partners(expected.map);
            for (int i = 0; i < n; ++i) {
                if (ours[i] == theirs[i]) continue;
                // Partners may differ only if similarities are nearly equal: the two best similarities of the
                // token or of a partner must differ by at most 1e-6.
                const OracleMerge oracle = oracleMerge(rows);
                EXPECT_LE(std::min({oracle.margin[i], oracle.margin[ours[i]], oracle.margin[theirs[i]]}),
                          1e-6);
            }
        }
    }
}

struct Width {
    const char* name;
    int heads, blocks, tokens;
};

class TorchWidths : public testing::TestWithParam<Width> {};

TEST_P(TorchWidths, AtEverySchedule) {
    for (const std::vector<int>& schedule :
         {std::vector<int>{}, {0}, {2, 5}, {3, 6, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}) {
        EncoderOptions o;
        o.heads = GetParam().heads, o.headSize = 64, o.hidden = 4 * o.dim(), o.blocks = GetParam().blocks;
        o.imageTokens = GetParam().tokens, o.schedule = schedule;
        expectParity(o);
    }
}

INSTANTIATE_TEST_SUITE_P(All, TorchWidths,
                         testing::Values(Width{"T12", 3, 12, 256}, Width{"S12", 6, 12, 196},
                                         Width{"B12", 12, 12, 64}, Width{"T24", 3, 24, 128},
                                         Width{"S24", 6, 24, 64}, Width{"B24", 12, 24, 36}),
                         [](const auto& one) { return std::string(one.param.name); });

struct Option {
    const char* name;
    std::function<void(EncoderOptions&)> change;
};

class TorchOptions : public testing::TestWithParam<Option> {};

TEST_P(TorchOptions, EachOnItsOwn) {
    EncoderOptions o;
    o.headSize = 32, o.hidden = 200, o.blocks = 6, o.imageTokens = 120, o.schedule = {2, 5};
    GetParam().change(o);
    expectParity(o);
}

INSTANTIATE_TEST_SUITE_P(
    All, TorchOptions,
    testing::Values(Option{"NoSpecial", [](auto& o) { o.special = 0; }},
                    Option{"Distilled", [](auto& o) { o.special = 2; }},
                    Option{"Registers", [](auto& o) { o.special = 5; }},
                    Option{"NoBias", [](auto& o) { o.qkvBias = false; }},
                    Option{"LayerScale", [](auto& o) { o.layerScale = true; }},
                    Option{"QkNorm", [](auto& o) { o.qkNorm = true; }},
                    Option{"InnerNorms", [](auto& o) { o.attentionNorm = o.mlpNorm = true; }},
                    Option{"GeluTanh", [](auto& o) { o.activation = "gelu_tanh"; }},
                    Option{"GeluQuick", [](auto& o) { o.activation = "gelu_quick"; }},
                    Option{"SwiGlu", [](auto& o) { o.activation = "silu", o.gated = o.mlpNorm = true; }},
                    Option{"RmsNorm",
                           [](auto& o) {
                               o.norm = o.innerNorm = NormKind::Rms, o.qkNorm = true;
                               o.activation = "silu", o.gated = true, o.special = 0, o.qkvBias = false;
                           }},
                    Option{"Parallel", [](auto& o) { o.parallel = o.layerScale = true; }},
                    Option{"RotaryInterleaved", [](auto& o) { o.rope = "interleaved"; }},
                    Option{"RotaryHalves", [](auto& o) { o.rope = "half", o.special = 5; }},
                    Option{"RotaryPerHead", [](auto& o) { o.rope = "half", o.ropePerHead = true; }},
                    Option{"Taps",
                           [](auto& o) {
                               o.taps = {1, 3, 5}, o.tapNorm = {0, 1, 1};
                           }},
                    Option{"Scale", [](auto& o) { o.scale = 0.11f; }}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(TorchParity, BiasOfKeys) {
    EncoderOptions o;
    o.blocks = 6, o.imageTokens = 120, o.schedule = {2, 5};
    expectParity(o, randomMatrix(1, 121, 3, 1.5));
}

TEST(TorchParity, ImposedMaps) {
    torch::NoGradGuard guard;
    EncoderOptions o;
    o.imageTokens = 60, o.schedule = {1};
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 1, 60, 2);
    MergeMap map;
    for (int i = 0; i < 60; ++i)
        map.ids.push_back(i * 7 % 20);
    map.clusters = 20;
    const auto expected = TorchEncoder(encoder).run(tensorOf(imageOf(batch, 0)), {}, {{0, map.ids}});
    const Ran ran = run(encoder, batch, cv::Mat(), {{0, {map}}});
    EXPECT_LT(relativeError(imageOf(ran.outputs[0], 0), matOf(expected.taps[0])), 1e-4);
}

void expectInt8(const EncoderCase& encoder, const cv::Mat& batch, const std::vector<std::string>& keptInF32) {
    torch::NoGradGuard guard;
    const auto expected = TorchEncoder(encoder).run(tensorOf(imageOf(batch, 0)), {}, {});
    std::map<int, std::vector<MergeMap>> imposed;
    for (size_t s = 0; s < expected.merges.size(); ++s)
        imposed[static_cast<int>(s)] = {{expected.merges[s].map, expected.merges[s].clusters}};
    const Ran ran = run(encoder, batch, cv::Mat(), imposed, Precision::I8);
    EXPECT_EQ(ran.report.keptInF32, keptInF32);
    const double error = relativeError(imageOf(ran.outputs[0], 0), matOf(expected.taps[0]));
    EXPECT_LT(error, 0.05);
    EXPECT_GT(error, 0) << "f32 ran";
}

TEST(TorchParity, Int8OfRandomAndStructuredModels) {
    EncoderOptions o;
    o.headSize = 64, o.hidden = 4 * o.dim(), o.blocks = 12, o.imageTokens = 196;
    for (const std::vector<int>& schedule : {std::vector<int>{}, {2, 5}}) {
        o.schedule = schedule;
        EncoderCase encoder = makeEncoder(o);
        cv::Mat batch = makeBatch(o, 1, o.imageTokens, 11);
        expectInt8(encoder, batch, {});
        // As in an image, there are few kinds of tokens. Tokens of a kind differ by a little noise.
        for (int t = 0; t < o.imageTokens; ++t)
            for (int d = 0; d < o.dim(); ++d)
                batch.ptr<float>(0, o.special + t)[d] =
                    batch.ptr<float>(0, o.special + t % 9)[d] + 0.05f * batch.ptr<float>(0, o.special + t)[d];
        expectInt8(encoder, batch, {});
        // A row of a weight is a thousand times as large as the other rows.
        cv::Mat weight = encoder.weights.raw("3.fc1.weight").clone();
        weight.row(7) *= 1000;
        encoder.weights.add("3.fc1.weight", weight);
        cv::Mat norm = encoder.weights.raw("3.norm2.weight").clone();
        norm.at<float>(7) *= 1e-3f;
        encoder.weights.add("3.norm2.weight", norm);
        expectInt8(encoder, batch, {"3.fc1"});
    }
}

}  // namespace
}  // namespace mpm::test
