// Tests the encoder on the CPU: the suite for all devices, and guarantees that only the CPU gives.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include <opencv2/core/utility.hpp>

#include "mpm_layer/cpu/chunks.hpp"
#include "mpm_layer/cpu/linear.hpp"
#include "mpm_layer/encoder/shared_weights.hpp"
#include "mpm_layer/encoder_suite.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/i8.hpp"

namespace mpm::test {
namespace {

const Target kF32{"F32", Device::Cpu, Precision::F32, 1e-4, true};
const Target kBf16{"Bf16", Device::Cpu, Precision::BF16, 2e-2, false};

// On x86 processors without VNNI, rows are quantised to 7 bits instead of 8, so errors are twice as large.
const Target kI8{"I8", Device::Cpu, Precision::I8, kernels::hasI8() ? 5e-2 : 1e-1, false};

MPM_INSTANTIATE_ENCODER_SUITE(Cpu, kF32, kBf16, kI8);

// The bits of an image's result depend neither on the batch nor on the threads. The noise differs from image
// to image, so after merging, images have different numbers of tokens.
class CpuBits : public EncoderTest {};

TEST_P(CpuBits, BatchEqualsSingles) {
    for (int tokens : {33, 130}) {
        EncoderOptions o = with([](auto& options) { options.schedule = {0, 1, 2}, options.rope = "half"; });
        o.headSize = 64, o.hidden = 192, o.imageTokens = tokens;
        const EncoderCase encoder = makeEncoder(o);
        const cv::Mat batch = makeBatch(o, 5, tokens, 21);
        const int threads = cv::getNumThreads();
        const Ran whole = run(GetParam(), encoder, batch);
        for (int count : {1, 2, 5}) {
            cv::setNumThreads(count);
            EXPECT_TRUE(sameBits(run(GetParam(), encoder, batch).outputs[0], whole.outputs[0]))
                << count << " threads";
            for (int i = 0; i < 5; ++i) {
                const Ran single = run(GetParam(), encoder, batchOfOne(batch, i));
                EXPECT_TRUE(sameBits(imageOf(single.outputs[0], 0), imageOf(whole.outputs[0], i)))
                    << "image " << i << ", " << count << " threads, " << tokens << " tokens";
                EXPECT_EQ(ids(single.report.images[0].map), ids(whole.report.images[i].map));
            }
        }
        cv::setNumThreads(threads);
    }
}

INSTANTIATE_TEST_SUITE_P(Cpu, CpuBits, testing::Values(kF32, kBf16, kI8),
                         [](const auto& one) { return std::string(one.param.name); });

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
    EncoderCase other = makeEncoder(o);
    other.config.activation = kernels::Activation::Relu;
    EXPECT_NE(pack(other, Precision::F32), first);
    other = makeEncoder(o);
    other.config.norm.epsilon *= 2;
    EXPECT_NE(pack(other, Precision::F32), first);
    if (kernels::hasBf16()) {
        EXPECT_NE(pack(makeEncoder(o), Precision::BF16), first);
    }
}

TEST(Encoder, AnUnknownInstructionSetIsRejected) {
    const char* before = std::getenv("MPM_MAX_CPU_ISA");
    const std::string kept = before ? before : "";
    setenv("MPM_MAX_CPU_ISA", "avx9", 1);
    try {
        makeBackend(Device::Cpu, 0);
        ADD_FAILURE() << "avx9 was taken";
    } catch (const cv::Exception& error) {
        EXPECT_NE(error.err.find("avx9"), std::string::npos);
        EXPECT_NE(error.err.find("avx-vnni"), std::string::npos);
    }
    setenv("MPM_MAX_CPU_ISA", kept.c_str(), 1);
    EXPECT_NO_THROW(makeBackend(Device::Cpu, 0));
}

TEST(Encoder, ALimitBelowBf16LeavesItOut) {
    const char* limit = std::getenv("MPM_MAX_CPU_ISA");
    if (!limit || !*limit || std::string(limit) == "avx512") GTEST_SKIP();
    EXPECT_FALSE(kernels::hasBf16());
}

TEST(Encoder, Int8LeavesALayerThatWouldLoseTooMuchInF32) {
    const EncoderOptions o = with([](auto&) {});
    EncoderCase encoder = makeEncoder(o);
    const Target target{"I8", Device::Cpu, Precision::I8, 0, false};
    const cv::Mat batch = makeBatch(o, 1, 24, 3);
    EXPECT_TRUE(run(target, encoder, batch).report.keptInF32.empty());
    cv::Mat weight = encoder.weights.raw("1.fc1.weight").clone();
    weight.row(0) *= 1000;
    encoder.weights.add("1.fc1.weight", weight);
    const Ran ran = run(target, encoder, batch);
    EXPECT_EQ(ran.report.keptInF32, std::vector<std::string>{"1.fc1"});
}

TEST(Encoder, WithoutInt8StaysInF32) {
    const EncoderOptions o = with([](auto&) {});
    EncoderCase encoder = makeEncoder(o);
    encoder.config.int8 = false;
    const cv::Mat batch = makeBatch(o, 1, 24, 3);
    const Ran i8 = run({"I8", Device::Cpu, Precision::I8, 0, false}, encoder, batch);
    const Ran f32 = run({"F32", Device::Cpu, Precision::F32, 0, false}, encoder, batch);
    EXPECT_TRUE(sameBits(i8.outputs[0], f32.outputs[0]));
    EXPECT_EQ(i8.report.keptInF32.size(), static_cast<size_t>(4 * encoder.config.blocks));
}

TEST(Encoder, KeepsEarlyBlocksAndProjectionsOutOfInt8) {
    const EncoderOptions o = with([](auto&) {});
    EncoderCase encoder = makeEncoder(o);
    ASSERT_GT(encoder.config.blocks, 1);
    const cv::Mat batch = makeBatch(o, 1, 24, 3);
    const Ran f32 = run({"F32", Device::Cpu, Precision::F32, 0, false}, encoder, batch);
    const auto errorFrom = [&](int block) {
        encoder.config.int8From = block;
        const Ran i8 = run({"I8", Device::Cpu, Precision::I8, 0, false}, encoder, batch);
        std::vector<std::string> kept;
        for (int b = 0; b < encoder.config.blocks; ++b)
            for (const char* layer : {"qkv", "proj", "fc1", "fc2"})
                if (b < block || (block > 0 && layer == std::string("proj")))
                    kept.push_back(std::to_string(b) + "." + layer);
        EXPECT_EQ(i8.report.keptInF32, kept);
        return cv::norm(i8.outputs[0], f32.outputs[0]);
    };
    const double all = errorFrom(0), some = errorFrom(1), none = errorFrom(encoder.config.blocks);
    EXPECT_LT(some, all);
    EXPECT_LT(none, some);
}

// If `least` is not set, quantisation represents the rows exactly, so the whole error comes from the weights.
TEST(Encoder, WeightsOfTwoBytesHaveSmallErrors) {
    constexpr int kRows = 37, kDepth = 75, kColumns = 50;
    cv::RNG rng(5);
    cv::Mat rows(kRows, kDepth, CV_32F), weight(kDepth, kColumns, CV_32F), bias(1, kColumns, CV_32F);
    rng.fill(weight, cv::RNG::NORMAL, 0, 1);
    rng.fill(bias, cv::RNG::NORMAL, 0, 1);
    kernels::Buffer memory, output;
    const int steps = kernels::formOf(kernels::Finer::Left).left;
    for (const std::optional<float> least : {std::optional<float>(), std::optional<float>(-4.0f)}) {
        for (int r = 0; r < kRows; ++r)
            for (int k = 0; k < kDepth; ++k)
                rows.at<float>(r, k) =
                    static_cast<float>(k == 0 ? steps : rng.uniform(least ? -4 : -steps, steps));
        const auto errorOf = [&](cpu::WeightBytes bytes) {
            const cpu::Linear layer(weight.ptr<float>(), kDepth, kColumns,
                                    std::vector<float>(bias.begin<float>(), bias.end<float>()), Precision::I8,
                                    least, bytes);
            cpu::LeftRows left(memory, Precision::I8, kRows, kDepth, least);
            for (int r = 0; r < kRows; ++r)
                left.pack(r, rows.ptr<float>(r));
            kernels::Epilogue epilogue;
            epilogue.activation = kernels::Activation::Relu;
            layer.apply(left, epilogue, output.reserve(kRows * kColumns), kColumns);
            cv::Mat wanted = rows * weight + cv::repeat(bias, kRows, 1);
            wanted = cv::max(wanted, 0);
            return cv::norm(cv::Mat(kRows, kColumns, CV_32F, output.data()), wanted) / cv::norm(wanted);
        };
        const double one = errorOf(cpu::WeightBytes::One), two = errorOf(cpu::WeightBytes::Two);
        EXPECT_GT(one, 1e-3);
        EXPECT_LT(two, (least ? 0.8 : 0.02) * one);
    }
}

// For f32 rows, WeightBytes::Two quantises values and weights to two bytes. A row with NaN gives NaN.
TEST(Encoder, RowsOfTwoBytesHaveSmallErrors) {
    constexpr int kRows = 37, kDepth = 75, kColumns = 50, kNan = 7, kZero = 9;
    cv::RNG rng(6);
    cv::Mat rows(kRows, kDepth, CV_32F), weight(kDepth, kColumns, CV_32F);
    rng.fill(rows, cv::RNG::NORMAL, 0, 1);
    rng.fill(weight, cv::RNG::NORMAL, 0, 1);
    rows.at<float>(3, 4) = 1000;
    rows.row(kZero).setTo(0);
    const auto errorOf = [&](cpu::WeightBytes bytes) {
        const cpu::Linear layer(weight.ptr<float>(), kDepth, kColumns, {}, Precision::I8, std::nullopt,
                                bytes);
        cv::Mat given = rows.clone(), out(kRows, kColumns, CV_32F);
        given.at<float>(kNan, 0) = std::numeric_limits<float>::quiet_NaN();
        layer.apply(given.ptr<float>(), kDepth, kRows, {}, out.ptr<float>(), kColumns);
        for (int n = 0; n < kColumns; ++n)
            EXPECT_TRUE(std::isnan(out.at<float>(kNan, n)));
        EXPECT_EQ(cv::countNonZero(out.row(kZero)), 0);
        const cv::Mat wanted = rows * weight;
        wanted.row(kNan).copyTo(out.row(kNan));
        return cv::norm(out, wanted) / cv::norm(wanted);
    };
    const double one = errorOf(cpu::WeightBytes::One), two = errorOf(cpu::WeightBytes::Two);
    EXPECT_GT(one, 1e-3);
    EXPECT_LT(two, 0.02 * one);
}

// After merging, the number of tokens differs from image to image. In a second round over the same images,
// the encoder must allocate no memory. The test uses a single thread, because each thread of the pool
// allocates scratch memory for its first work.
TEST(Encoder, AllocatesNothingOnceWarm) {
    EncoderOptions o = with([](auto& options) { options.schedule = {0, 1, 2}; });
    o.headSize = 64, o.imageTokens = 200;
    const EncoderCase encoder = makeEncoder(o);
    const auto control = std::make_shared<EncoderControl>(encoder.config);
    EncoderRunner runner(control);
    runner.setWeights(encoder.weights);
    std::vector<cv::Mat> out(1);
    const auto round = [&] {
        for (unsigned seed = 0; seed < 60; ++seed) {
            const cv::Mat batch = makeBatch(o, 1, 200, seed);
            out[0].create(batch.dims, batch.size.p, CV_32F);
            runner.run(batch, cv::Mat(), out);
        }
    };
    const int threads = cv::getNumThreads();
    cv::setNumThreads(1);
    round();
    const size_t before = kernels::systemAllocations();
    round();
    const size_t allocations = kernels::systemAllocations() - before;
    cv::setNumThreads(threads);
    EXPECT_EQ(allocations, 0u);
}

template <class Change>
void expectRefusal(const Change& change, const std::string& word) {
    EncoderCase encoder = makeEncoder(with([](auto&) {}));
    cv::Mat batch = makeBatch(encoder.options, 1, 24, 1), bias;
    Settings settings;
    change(encoder, batch, bias, settings);
    try {
        run(kF32, encoder, batch, bias, [&](Settings& s) { s = settings; });
        FAIL() << "was accepted; expected a refusal that says " << word;
    } catch (const cv::Exception& e) {
        EXPECT_NE(e.err.find(word), std::string::npos) << e.err;
    }
}

// Returns the encoder's weights with `value` for the weight `name`. An empty `value` removes the weight.
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

// Each group is in exactly one chunk, and no chunk exceeds the limit. If chunks may be smaller than the limit
// and there are enough rows for all threads, chunks become smaller towards the end. Otherwise, the sizes of
// two chunks differ by at most a group.
TEST(Chunks, HaveAllGroupsOnce) {
    for (const cpu::ChunkSize size :
         {cpu::ChunkSize{96, 24, 6}, {48, 12, 12}, {96, 96, 12}, {192, 192, 32}}) {
        for (int threads : {1, 2, 3, 16}) {
            for (int rows : {0, 1, 6, 95, 580, 1028, 5000}) {
                const int groups = (rows + size.group - 1) / size.group;
                const bool shrinks = threads > 1 && size.least < size.limit && rows / size.limit >= threads;
                const std::vector<int> starts = cpu::chunkStarts(rows, size, threads);
                ASSERT_EQ(starts.front(), 0);
                ASSERT_EQ(starts.back(), groups);
                int most = 0, least = std::numeric_limits<int>::max();
                for (size_t c = 1; c < starts.size(); ++c) {
                    const int chunk = starts[c] - starts[c - 1];
                    ASSERT_GT(chunk, 0);
                    EXPECT_LE((chunk - 1) * size.group, size.limit);
                    if (shrinks && c > 1) {
                        EXPECT_LE(chunk, least);
                    }
                    most = std::max(most, chunk), least = std::min(least, chunk);
                }
                if (rows > 0 && !shrinks) {
                    EXPECT_LE(most - least, 1);
                }
            }
        }
    }
}

}  // namespace
}  // namespace mpm::test
