// The encoder on every backend device that is here, against the scalar oracle: options, schedules, batches,
// bits.
#include <algorithm>

#include <gtest/gtest.h>
#include <opencv2/core/utility.hpp>

#include "mpm_layer/encoder/runner.hpp"
#include "mpm_layer/encoder/shared_weights.hpp"
#include "mpm_layer/kernels/bf16.hpp"
#include "mpm_layer/kernels/buffer.hpp"
#include "support/encoder_case.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"

namespace mpm::test {
namespace {

struct Ran {
    std::vector<cv::Mat> outputs;
    Report report;
};

Ran run(
    const EncoderCase& encoder, const cv::Mat& batch, const cv::Mat& keyBias = cv::Mat(),
    const std::function<void(Settings&)>& change = [](Settings&) {}) {
    const auto control = std::make_shared<EncoderControl>(encoder.config);
    control->change(change);
    EncoderRunner runner(control);
    runner.setWeights(encoder.weights);
    Ran ran;
    ran.outputs.resize(encoder.config.taps.size());
    for (cv::Mat& out : ran.outputs)
        out.create(batch.dims, batch.size.p, CV_32F);
    runner.run(batch, keyBias, ran.outputs);
    ran.report = control->report();
    return ran;
}

std::vector<int> ids(const cv::Mat& map) {
    return {map.ptr<int>(), map.ptr<int>() + map.total()};
}

// The oracle with the maps the encoder found, which must be the oracle's own wherever its margins decide.
void expectOracle(const EncoderCase& encoder, const cv::Mat& batch, const std::vector<double>& keyBias,
                  const Ran& ran) {
    for (int i = 0; i < batch.size[0]; ++i) {
        std::map<int, std::vector<int>> found;
        const ImageReport& report = ran.report.images[i];
        ASSERT_EQ(report.stages.size(), encoder.config.schedule.size());
        for (size_t s = 0; s < report.stages.size(); ++s)
            found[static_cast<int>(s)] = ids(report.stages[s].map);
        const Rows tokens = toRows(imageOf(batch, i));
        const OracleOutput free = oracleEncoder(encoder.config, encoder.weights, tokens, keyBias);
        bool decided = true;
        for (size_t s = 0; s < found.size() && decided; ++s) {
            decided = free.smallestMargins[s] > 1e-5;
            if (!decided) break;
            EXPECT_EQ(found[static_cast<int>(s)], free.stageMaps[s]) << "image " << i << " stage " << s;
        }
        const OracleOutput expected =
            decided ? free : oracleEncoder(encoder.config, encoder.weights, tokens, keyBias, found);
        for (size_t t = 0; t < ran.outputs.size(); ++t) {
            const cv::Mat wanted = toMatrix(expected.taps[t], batch.size[2]);
            EXPECT_LT(relativeError(imageOf(ran.outputs[t], i), wanted), 1e-4)
                << "image " << i << " tap " << t;
        }
    }
}

struct Case {
    const char* name;
    EncoderOptions options;
    int images = 1;
};

EncoderOptions with(const std::function<void(EncoderOptions&)>& change) {
    EncoderOptions options;
    options.schedule = {1};
    change(options);
    return options;
}

std::vector<Case> cases() {
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

class EncoderOptionsTest : public testing::TestWithParam<Case> {};

TEST_P(EncoderOptionsTest, EqualsTheOracle) {
    const Case& c = GetParam();
    const EncoderCase encoder = makeEncoder(c.options);
    const cv::Mat batch = makeBatch(c.options, c.images, c.options.imageTokens, 7);
    const Ran ran = run(encoder, batch);
    expectOracle(encoder, batch, {}, ran);
    // Tokens entering each block shrink at the stages and only there.
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

INSTANTIATE_TEST_SUITE_P(All, EncoderOptionsTest, testing::ValuesIn(cases()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Encoder, RealWidthsAndDepths) {
    struct Model {
        int heads, blocks, tokens;
    };
    for (const Model& m : {Model{3, 12, 30}, {6, 12, 14}, {12, 12, 9}, {6, 24, 10}}) {
        for (const std::vector<int>& schedule :
             {std::vector<int>{}, {0}, {2, 5}, {3, 6, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}) {
            EncoderOptions o;
            o.heads = m.heads, o.headSize = 64, o.blocks = m.blocks, o.hidden = 4 * o.dim(),
            o.schedule = schedule;
            const EncoderCase encoder = makeEncoder(o);
            const cv::Mat batch = makeBatch(o, 1, m.tokens, 3);
            expectOracle(encoder, batch, {}, run(encoder, batch));
            if (m.heads == 12 && schedule.size() == 2) break;
        }
    }
}

TEST(Encoder, BiasOfKeysIsAddedAndAveraged) {
    EncoderOptions o = with([](auto& options) { options.schedule = {1, 2}; });
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 2, 24, 4);
    const cv::Mat bias = randomMatrix(1, 25, 12, 1.5);
    const Ran ran = run(encoder, batch, bias);
    const std::vector<double> values(bias.ptr<float>(), bias.ptr<float>() + 25);
    expectOracle(encoder, batch, values, ran);
    EXPECT_GT(relativeError(run(encoder, batch).outputs[0], ran.outputs[0]), 1e-3) << "the bias must matter";
}

TEST(Encoder, ImposedMapsAreTaken) {
    EncoderOptions o = with([](auto& options) { options.schedule = {1}; });
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 2, 24, 5);
    MergeMap thirds;
    for (int i = 0; i < 24; ++i)
        thirds.ids.push_back(i / 3);
    thirds.clusters = 8;
    const Ran ran = run(encoder, batch, cv::Mat(), [&](Settings& s) { s.imposed[0] = {thirds}; });
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(ids(ran.report.images[i].map), thirds.ids);
        const OracleOutput expected =
            oracleEncoder(encoder.config, encoder.weights, toRows(imageOf(batch, i)), {}, {{0, thirds.ids}});
        EXPECT_LT(relativeError(imageOf(ran.outputs[0], i), toMatrix(expected.taps[0], o.dim())), 1e-4);
    }
    const auto tooMany = [&](Settings& s) { s.imposed[0] = {thirds, thirds, thirds}; };
    EXPECT_THROW(run(encoder, batch, cv::Mat(), tooMany), cv::Exception);
    const auto tooShort = [&](Settings& s) { s.imposed[0] = {identityMap(5)}; };
    EXPECT_THROW(run(encoder, batch, cv::Mat(), tooShort), cv::Exception);
}

TEST(Encoder, MethodNoneRunsAllTokens) {
    EncoderOptions o = with([](auto& options) { options.schedule = {1}; });
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 1, 24, 5);
    const Ran none = run(encoder, batch, cv::Mat(), [](Settings& s) { s.method = "none"; });
    const Ran empty = run(encoder, batch, cv::Mat(), [](Settings& s) { s.schedule = std::vector<int>(); });
    EXPECT_TRUE(sameBits(none.outputs[0], empty.outputs[0]));
    EXPECT_EQ(none.report.images[0].tokens.back(), 24);
}

// An image's bits depend neither on its batch nor on the threads. Counts are ragged: the images differ in
// noise.
TEST(Encoder, BatchEqualsSinglesBitForBit) {
    for (int tokens : {33, 130}) {
        EncoderOptions o = with([](auto& options) { options.schedule = {0, 1, 2}, options.rope = "half"; });
        o.headSize = 64, o.hidden = 192, o.imageTokens = tokens;
        const EncoderCase encoder = makeEncoder(o);
        const cv::Mat batch = makeBatch(o, 5, tokens, 21);
        const int threads = cv::getNumThreads();
        const Ran whole = run(encoder, batch);
        for (int count : {1, 2, 5}) {
            cv::setNumThreads(count);
            EXPECT_TRUE(sameBits(run(encoder, batch).outputs[0], whole.outputs[0])) << count << " threads";
            for (int i = 0; i < 5; ++i) {
                const Ran single = run(encoder, batchOfOne(batch, i));
                EXPECT_TRUE(sameBits(imageOf(single.outputs[0], 0), imageOf(whole.outputs[0], i)))
                    << "image " << i << ", " << count << " threads, " << tokens << " tokens";
                EXPECT_EQ(ids(single.report.images[0].map), ids(whole.report.images[i].map));
            }
        }
        cv::setNumThreads(threads);
    }
}

TEST(Encoder, ManyRepeatsGiveTheSameBits) {
    EncoderOptions o = with([](auto& options) { options.schedule = {0, 1}; });
    const EncoderCase encoder = makeEncoder(o);
    const cv::Mat batch = makeBatch(o, 3, 60, 2);
    const Ran first = run(encoder, batch);
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(sameBits(run(encoder, batch).outputs[0], first.outputs[0]));
}

TEST(Encoder, EqualWeightsAreSharedOthersAreNot) {
    const auto pack = [](const EncoderCase& encoder, Precision precision) {
        return packShared(*makeBackend(Device::Cpu, 0), 0, encoder.config, encoder.weights, precision);
    };
    EncoderOptions o = with([](auto&) {});
    const auto first = pack(makeEncoder(o), Precision::F32);
    EncoderOptions rescheduled = o;
    rescheduled.schedule = {0, 2};
    EXPECT_EQ(pack(makeEncoder(rescheduled), Precision::F32), first);
    EncoderCase changed = makeEncoder(o);
    cv::Mat weight = changed.weights.raw("2.fc2.weight").clone();
    weight.at<float>(weight.rows - 1, weight.cols - 1) += 1e-3f;
    changed.weights.add("2.fc2.weight", weight);
    EXPECT_NE(pack(changed, Precision::F32), first);
    EncoderOptions scaled = o;
    scaled.scale = 0.5f;
    EXPECT_NE(pack(makeEncoder(scaled), Precision::F32), first);
    if (kernels::hasBf16()) {
        EXPECT_NE(pack(makeEncoder(o), Precision::BF16), first);
    }
}

// Pictures whose counts change from one to the next: the memory of the first rounds serves all others.
TEST(Encoder, AllocatesNothingOnceWarm) {
    EncoderOptions o = with([](auto& options) { options.schedule = {0, 1, 2}; });
    o.headSize = 64, o.imageTokens = 200;
    const EncoderCase encoder = makeEncoder(o);
    const auto control = std::make_shared<EncoderControl>(encoder.config);
    EncoderRunner runner(control);
    runner.setWeights(encoder.weights);
    std::vector<cv::Mat> out(1);
    const auto frame = [&](unsigned seed) {
        const cv::Mat batch = makeBatch(o, 1, 200, seed);
        out[0].create(batch.dims, batch.size.p, CV_32F);
        runner.run(batch, cv::Mat(), out);
    };
    for (unsigned seed = 0; seed < 20; ++seed)
        frame(seed);
    const size_t before = kernels::systemAllocations();
    for (unsigned seed = 20; seed < 120; ++seed)
        frame(seed);
    // A thread of the pool that was idle so far may still need its own scratch.
    EXPECT_LE(kernels::systemAllocations() - before, 8u);
}

// bf16 rounds every operand to 8 bits: close to f32, the same promises about bits.
class EncoderBf16Test : public testing::TestWithParam<Case> {
protected:
    void SetUp() override {
        if (!kernels::hasBf16()) GTEST_SKIP() << "this processor multiplies no bf16";
    }
    static void setBf16(Settings& s) { s.precision = Precision::BF16; }
};

TEST_P(EncoderBf16Test, IsCloseToTheOracle) {
    const Case& c = GetParam();
    const EncoderCase encoder = makeEncoder(c.options);
    const cv::Mat batch = makeBatch(c.options, c.images, c.options.imageTokens, 7);
    const Ran ran = run(encoder, batch, cv::Mat(), setBf16);
    EXPECT_EQ(ran.report.precision, Precision::BF16);
    for (int i = 0; i < c.images; ++i) {
        std::map<int, std::vector<int>> found;
        const ImageReport& report = ran.report.images[i];
        for (size_t s = 0; s < report.stages.size(); ++s)
            found[static_cast<int>(s)] = ids(report.stages[s].map);
        const OracleOutput expected =
            oracleEncoder(encoder.config, encoder.weights, toRows(imageOf(batch, i)), {}, found);
        for (size_t t = 0; t < ran.outputs.size(); ++t) {
            const cv::Mat wanted = toMatrix(expected.taps[t], batch.size[2]);
            EXPECT_LT(relativeError(imageOf(ran.outputs[t], i), wanted), 2e-2)
                << "image " << i << " tap " << t;
        }
        const Ran single = run(encoder, batchOfOne(batch, i), cv::Mat(), setBf16);
        EXPECT_TRUE(sameBits(imageOf(single.outputs[0], 0), imageOf(ran.outputs[0], i))) << "image " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(All, EncoderBf16Test, testing::ValuesIn(cases()),
                         [](const auto& one) { return std::string(one.param.name); });

template <class Change>
void expectRefusal(const Change& change, const std::string& word) {
    EncoderCase encoder = makeEncoder(with([](auto&) {}));
    cv::Mat batch = makeBatch(encoder.options, 1, 24, 1), bias;
    Settings settings;
    change(encoder, batch, bias, settings);
    try {
        run(encoder, batch, bias, [&](Settings& s) { s = settings; });
        FAIL() << "was accepted; expected a refusal that says " << word;
    } catch (const cv::Exception& e) {
        EXPECT_NE(e.err.find(word), std::string::npos) << e.err;
    }
}

// Another value, or none, for one weight.
NamedWeights replaced(const EncoderCase& encoder, const std::string& name, const cv::Mat& value) {
    NamedWeights weights;
    for (const auto& [key, old] : encoder.ordered) {
        if (key != name) weights.add(key, old);
    }
    if (!value.empty()) weights.add(name, value);
    return weights;
}

TEST(WrongUse, OfEncoders) {
    using E = EncoderCase;
    using M = cv::Mat;
    using S = Settings;
    expectRefusal([](E& e, M&, M&, S&) { e.config.heads = 5; }, "heads");
    expectRefusal([](E& e, M&, M&, S&) { e.weights = replaced(e, "1.proj.weight", {}); },
                  "1.proj.weight is missing");
    expectRefusal([](E& e, M&, M&, S&) { e.weights = replaced(e, "0.qkv.weight", {}); },
                  "0.qkv.weight is missing");
    expectRefusal([](E& e, M&, M&, S&) { e.weights = replaced(e, "2.fc2.weight", M::ones(7, 24, CV_32F)); },
                  "2.fc2.weight");
    expectRefusal([](E& e, M&, M&, S&) { e.weights = replaced(e, "2.norm1.bias", M::ones(1, 23, CV_32F)); },
                  "2.norm1.bias");
    expectRefusal([](E&, M& b, M&, S&) { b = M::ones(4, 24, CV_32F); }, "tokens");
    expectRefusal(
        [](E& e, M& b, M&, S&) { b = makeBatch(with([](auto& o) { o.heads = 4; }), 1, 9, 1), (void)e; },
        "wide");
    expectRefusal([](E&, M&, M& k, S&) { k = M::ones(1, 24, CV_32F); }, "key_bias");
    expectRefusal([](E&, M&, M&, S& s) { s.schedule = {{3}}; }, "block 3");
    expectRefusal([](E&, M&, M&, S& s) { s.schedule = {{2, 1}}; }, "increasing");
    expectRefusal([](E&, M&, M&, S& s) { s.schedule = {{1, 1}}; }, "increasing");
    expectRefusal([](E&, M&, M&, S& s) { s.schedule = {{-1}}; }, "block -1");
    expectRefusal([](E&, M&, M&, S& s) { s.device = Device::Cuda; }, "cuda");
    expectRefusal([](E&, M&, M&, S& s) { s.precision = Precision::TF32; }, "precision");
    expectRefusal([](E&, M&, M&, S& s) { s.method = "nonsense"; }, "nonsense");
    expectRefusal(
        [](E& e, M&, M&, S&) { e = makeEncoder(with([](auto& o) { o.rope = "half", o.imageTokens = 9; })); },
        "rotary");
}

}  // namespace
}  // namespace mpm::test
