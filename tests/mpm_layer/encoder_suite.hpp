// A suite of tests that compare the encoder with the scalar oracle. Each device has a test file, which runs
// the suite in the precisions that it passes to MPM_INSTANTIATE_ENCODER_SUITE.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/encoder/runner.hpp"
#include "support/encoder_case.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"

namespace mpm::test {

/// A device, a precision, and the allowed difference from the oracle.
struct Target {
    const char* name;
    Device device;
    Precision precision;
    double tolerance;
    /// True if the precision is exact enough to find the oracle's maps, unless similarities are nearly equal.
    bool decidesAlike;
};

/// Returns a function that sets the target's device and precision, then applies `change`.
inline ChangeSettings on(const Target& target, const ChangeSettings& change = {}) {
    return [device = target.device, precision = target.precision, change](Settings& s) {
        s.device = device;
        s.precision = precision;
        if (change) change(s);
    };
}

inline Ran run(const Target& target, const EncoderCase& encoder, const cv::Mat& batch,
               const cv::Mat& keyBias = cv::Mat(), const ChangeSettings& change = {}) {
    SessionInput input;
    input.tokens = batch;
    input.keyBias = keyBias;
    return runEncoder(encoder, input, on(target, change));
}

// Compares the encoder's results with the oracle. If each token's two best similarities differ enough, the
// maps must equal the oracle's maps. Otherwise, the oracle uses the encoder's maps, and the test compares
// only outputs.
inline void expectOracle(const Target& target, const EncoderCase& encoder, const cv::Mat& batch,
                         const std::vector<double>& keyBias, const Ran& ran) {
    EXPECT_EQ(ran.report.device, target.device);
    EXPECT_EQ(ran.report.precision, target.precision);
    for (int i = 0; i < batch.size[0]; ++i) {
        std::map<int, std::vector<int>> found;
        const ImageReport& report = ran.report.images[i];
        ASSERT_EQ(report.stages.size(), encoder.config.schedule.size());
        for (size_t s = 0; s < report.stages.size(); ++s)
            found[static_cast<int>(s)] = ids(report.stages[s].map);
        const Rows tokens = toRows(imageOf(batch, i));
        bool decided = target.decidesAlike;
        OracleOutput free;
        if (decided) free = oracleEncoder(encoder.config, encoder.weights, tokens, keyBias);
        for (size_t s = 0; s < found.size() && decided; ++s) {
            decided = free.smallestMargins[s] > 1e-5;
            if (!decided) break;
            EXPECT_EQ(found[static_cast<int>(s)], free.stageMaps[s]) << "image " << i << " stage " << s;
        }
        const OracleOutput expected =
            decided ? free : oracleEncoder(encoder.config, encoder.weights, tokens, keyBias, found);
        for (size_t t = 0; t < ran.outputs.size(); ++t) {
            const cv::Mat wanted = toMatrix(expected.taps[t], batch.size[2]);
            EXPECT_LT(relativeError(imageOf(ran.outputs[t], i), wanted), target.tolerance)
                << "image " << i << " tap " << t;
        }
    }
}

struct Case {
    const char* name;
    EncoderOptions options;
    int images = 1;
};

inline EncoderOptions with(const std::function<void(EncoderOptions&)>& change) {
    EncoderOptions options;
    options.schedule = {1};
    change(options);
    return options;
}

inline std::vector<Case> cases() {
    return {
        {"Plain", with([](auto& o) { o.schedule = {}; })},
        {"MergeAtFirst", with([](auto& o) { o.schedule = {0}; })},
        {"MergeEverywhere", with([](auto& o) {
             o.schedule = {0, 1, 2};
         })},
        {"Batch", with([](auto& o) {
             o.schedule = {0, 2};
         }),
         4},
        {"NoSpecial", with([](auto& o) { o.special = 0; }), 2},
        {"Distilled", with([](auto& o) { o.special = 2; })},
        {"Registers", with([](auto& o) { o.special = 5; }), 2},
        {"NoQkvBias", with([](auto& o) { o.qkvBias = false; })},
        {"LayerScale", with([](auto& o) { o.layerScale = true; })},
        {"QkNorm", with([](auto& o) { o.qkNorm = true; })},
        {"AttentionNorm", with([](auto& o) { o.attentionNorm = true; })},
        {"MlpNorm", with([](auto& o) { o.mlpNorm = true; })},
        {"GeluTanh", with([](auto& o) { o.activation = "gelu_tanh"; })},
        {"GeluQuick", with([](auto& o) { o.activation = "gelu_quick"; })},
        {"Relu", with([](auto& o) { o.activation = "relu"; })},
        {"SwiGlu", with([](auto& o) { o.activation = "silu", o.gated = true; })},
        {"SwiGluNormed", with([](auto& o) { o.activation = "silu", o.gated = o.mlpNorm = true; })},
        {"RmsNorm", with([](auto& o) {
             o.norm = o.innerNorm = NormKind::Rms, o.activation = "silu", o.gated = true;
             o.qkNorm = o.attentionNorm = o.mlpNorm = true, o.qkvBias = false;
         })},
        {"RmsNormOfHeads", with([](auto& o) { o.innerNorm = NormKind::Rms, o.qkNorm = true; })},
        {"Parallel", with([](auto& o) {
             o.parallel = o.layerScale = true, o.schedule = {0, 2};
         }),
         2},
        {"ParallelSwiGlu",
         with([](auto& o) { o.parallel = o.gated = o.mlpNorm = true, o.norm = NormKind::Rms; })},
        {"RotaryInterleaved", with([](auto& o) { o.rope = "interleaved"; }), 2},
        {"RotaryHalves", with([](auto& o) { o.rope = "half", o.special = 5; })},
        {"RotaryPerHead", with([](auto& o) { o.rope = "half", o.ropePerHead = true; })},
        {"RotaryMergedTwice", with([](auto& o) {
             o.rope = "interleaved", o.schedule = {0, 1};
         })},
        {"NoFinalNorm", with([](auto& o) { o.finalNorm = false; })},
        {"Taps", with([](auto& o) {
             o.taps = {0, 1, 2}, o.tapNorm = {0, 1, 1}, o.schedule = {0, 2};
         }),
         2},
        {"Scale", with([](auto& o) { o.scale = 0.07f; })},
        {"LaterBlocks", with([](auto& o) {
             o.firstBlock = 6, o.schedule = {7, 8};
         })},
        {"HeadSize32", with([](auto& o) { o.headSize = 32, o.hidden = 100; })},
        {"HeadSize64", with([](auto& o) { o.headSize = 64, o.hidden = 200; })},
        {"HeadSize80", with([](auto& o) { o.headSize = 80, o.heads = 2; })},
        {"HeadSize88", with([](auto& o) { o.headSize = 88, o.heads = 1; })},
        {"HeadSize96", with([](auto& o) { o.headSize = 96, o.heads = 2; })},
        {"HeadSize128", with([](auto& o) { o.headSize = 128, o.heads = 1; })},
        {"HeadSizeOdd", with([](auto& o) { o.headSize = 7, o.heads = 5, o.hidden = 33; })},
        {"TwoTokens", with([](auto& o) { o.imageTokens = 2; })},
        {"OneToken", with([](auto& o) { o.imageTokens = 1; })},
        {"NoImageTokens", with([](auto& o) { o.imageTokens = 0; })},
        {"ManyTokens", with([](auto& o) {
             o.imageTokens = 300, o.schedule = {0, 1, 2};
         })},
    };
}

/// Returns an empty text if the target is available, else the reason.
inline std::string missing(const Target& target) {
    try {
        makeBackend(target.device, 0)->resolve(target.precision);
        return "";
    } catch (const cv::Exception& e) {
        return e.err;
    }
}

class EncoderOptionsTest : public testing::TestWithParam<std::tuple<Target, Case>> {
protected:
    void SetUp() override {
        const std::string why = missing(std::get<0>(GetParam()));
        if (!why.empty()) GTEST_SKIP() << why;
    }
};

class EncoderTest : public testing::TestWithParam<Target> {
protected:
    void SetUp() override {
        const std::string why = missing(GetParam());
        if (!why.empty()) GTEST_SKIP() << why;
    }
};

TEST_P(EncoderOptionsTest, EqualsTheOracle) {
    const auto& [target, c] = GetParam();
    const EncoderCase encoder = makeEncoder(c.options);
    const cv::Mat batch = makeBatch(c.options, c.images, c.options.imageTokens, 7);
    const Ran ran = run(target, encoder, batch);
    expectOracle(target, encoder, batch, {}, ran);
    // The number of tokens must change only at stages.
    for (const ImageReport& image : ran.report.images) {
        ASSERT_EQ(static_cast<int>(image.tokens.size()), encoder.config.blocks);
        int tokens = c.options.imageTokens;
        for (int b = 0; b < encoder.config.blocks; ++b) {
            for (const Stage& stage : image.stages) {
                if (stage.block == encoder.config.firstBlock + b) tokens = stage.tokens;
            }
            EXPECT_EQ(image.tokens[b], tokens);
        }
    }
}

TEST_P(EncoderTest, RealWidthsAndDepths) {
    struct Model {
        int heads, blocks, tokens;
    };
    for (const Model& m : {Model{3, 12, 30}, {6, 12, 14}, {12, 12, 9}, {6, 24, 10}}) {
        EncoderOptions o;
        o.heads = m.heads, o.headSize = 64, o.blocks = m.blocks, o.hidden = 4 * o.dim();
        EncoderCase encoder = makeEncoder(o);
        const cv::Mat batch = makeBatch(o, 1, m.tokens, 3);
        for (const std::vector<int>& schedule :
             {std::vector<int>{}, {0}, {2, 5}, {3, 6, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}) {
            encoder.options.schedule = encoder.config.schedule = schedule;
            expectOracle(GetParam(), encoder, batch, {}, run(GetParam(), encoder, batch));
            if (m.heads == 12 && schedule.size() == 2) break;
        }
    }
}

TEST_P(EncoderTest, BiasOfKeysIsAddedAndAveraged) {
    EncoderOptions o = with([](auto& options) { options.schedule = {1, 2}; });
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 2, 24, 4);
    const cv::Mat bias = randomMatrix(1, 25, 12, 1.5);
    const Ran ran = run(GetParam(), encoder, batch, bias);
    const std::vector<double> values(bias.ptr<float>(), bias.ptr<float>() + 25);
    expectOracle(GetParam(), encoder, batch, values, ran);
    EXPECT_GT(relativeError(run(GetParam(), encoder, batch).outputs[0], ran.outputs[0]), 1e-3)
        << "the bias must matter";
}

TEST_P(EncoderTest, ImposedMapsAreTaken) {
    EncoderOptions o = with([](auto& options) { options.schedule = {1}; });
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 2, 24, 5);
    MergeMap thirds;
    for (int i = 0; i < 24; ++i)
        thirds.ids.push_back(i / 3);
    thirds.clusters = 8;
    const Ran ran = run(GetParam(), encoder, batch, cv::Mat(), [&](Settings& s) { s.imposed[0] = {thirds}; });
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(ids(ran.report.images[i].map), thirds.ids);
        const OracleOutput expected =
            oracleEncoder(encoder.config, encoder.weights, toRows(imageOf(batch, i)), {}, {{0, thirds.ids}});
        EXPECT_LT(relativeError(imageOf(ran.outputs[0], i), toMatrix(expected.taps[0], o.dim())),
                  GetParam().tolerance);
    }
    const auto tooMany = [&](Settings& s) { s.imposed[0] = {thirds, thirds, thirds}; };
    EXPECT_THROW(run(GetParam(), encoder, batch, cv::Mat(), tooMany), cv::Exception);
    const auto tooShort = [&](Settings& s) { s.imposed[0] = {identityMap(5)}; };
    EXPECT_THROW(run(GetParam(), encoder, batch, cv::Mat(), tooShort), cv::Exception);
}

// Reducers that a device does not implement run on the CPU. These reducers, and the options of mutual pairs,
// must give the same clusters as on the CPU.
TEST_P(EncoderTest, MethodsReduceAsOnTheProcessor) {
    if (!GetParam().decidesAlike) GTEST_SKIP() << "rounds too much to decide alike";
    const EncoderOptions o = with([](auto& options) { options.schedule = {0, 1}; });
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 3, 24, 6);
    const Target processor{"Processor", Device::Cpu, Precision::F32, 0, true};
    for (const char* method : {"tome:r=4", "random", "mpm:mean=weighted,attention=proportional",
                               "mpm:pairs=0.5,by=keys,mean=scaled,before=mlp"}) {
        const auto choose = [&](Settings& s) { s.method = method; };
        const Ran here = run(GetParam(), encoder, batch, cv::Mat(), choose);
        const Ran there = run(processor, encoder, batch, cv::Mat(), choose);
        EXPECT_LT(relativeError(here.outputs[0], there.outputs[0]), GetParam().tolerance) << method;
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(ids(here.report.images[i].map), ids(there.report.images[i].map)) << method;
            EXPECT_EQ(here.report.images[i].tokens, there.report.images[i].tokens) << method;
        }
    }
}

TEST_P(EncoderTest, MethodNoneRunsAllTokens) {
    EncoderOptions o = with([](auto& options) { options.schedule = {1}; });
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 1, 24, 5);
    const Ran none = run(GetParam(), encoder, batch, cv::Mat(), [](Settings& s) { s.method = "none"; });
    const Ran empty =
        run(GetParam(), encoder, batch, cv::Mat(), [](Settings& s) { s.schedule = std::vector<int>(); });
    EXPECT_TRUE(sameBits(none.outputs[0], empty.outputs[0]));
    EXPECT_EQ(none.report.images[0].tokens.back(), 24);
}

TEST_P(EncoderTest, BatchIndependenceKeepsAnImagesBits) {
    const EncoderOptions o = with([](auto& options) { options.schedule = {0, 1}; });
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 4, 60, 9);
    const auto independent = [](Settings& s) { s.batchIndependent = true; };
    const Ran together = run(GetParam(), encoder, batch, cv::Mat(), independent);
    for (int i = 0; i < 4; ++i) {
        const int alone[] = {1, batch.size[1], batch.size[2]};
        const cv::Mat image(3, alone, CV_32F, const_cast<float*>(batch.ptr<float>(i)));
        const Ran ran = run(GetParam(), encoder, image, cv::Mat(), independent);
        EXPECT_TRUE(sameBits(imageOf(ran.outputs[0], 0), imageOf(together.outputs[0], i))) << "image " << i;
    }
}

TEST_P(EncoderTest, ManyRepeatsGiveTheSameBits) {
    EncoderOptions o = with([](auto& options) { options.schedule = {0, 1}; });
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 3, 60, 2);
    const Ran first = run(GetParam(), encoder, batch);
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(sameBits(run(GetParam(), encoder, batch).outputs[0], first.outputs[0]));
}

}  // namespace mpm::test

#define MPM_INSTANTIATE_ENCODER_SUITE(Name, ...)                                                          \
    INSTANTIATE_TEST_SUITE_P(                                                                             \
        Name, EncoderOptionsTest,                                                                         \
        testing::Combine(testing::Values(__VA_ARGS__), testing::ValuesIn(cases())), [](const auto& one) { \
            return std::string(std::get<0>(one.param).name) + std::get<1>(one.param).name;                \
        });                                                                                               \
    INSTANTIATE_TEST_SUITE_P(Name, EncoderTest, testing::Values(__VA_ARGS__),                             \
                             [](const auto& one) { return std::string(one.param.name); })
