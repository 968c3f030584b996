// Tests the layers inside cv::dnn, read from ONNX files as a user of the installed library does.
#include <cstdlib>
#include <numeric>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "dnn_fixture.hpp"
#include "support/engine.hpp"

namespace mpm::test {
namespace {

TEST_F(DnnTest, EncoderRunsFromAFile) {
    const EncoderCase encoder = makeEncoder(options());
    cv::dnn::Net net = load(encoderModel(encoder, 1, 40));
    for (unsigned seed : {1u, 2u, 3u}) {
        const cv::Mat batch = makeBatch(encoder.options, 1, 40, seed);
        EXPECT_LT(relativeError(imageOf(forward(net, batch), 0), oracle(encoder, batch, 0)), 1e-4);
    }
}

TEST_F(DnnTest, EncoderTakesABatch) {
    const EncoderCase encoder = makeEncoder(options());
    cv::dnn::Net net = load(encoderModel(encoder, -1, 40));
    for (int images : {1, 3, 2}) {
        const cv::Mat batch = makeBatch(encoder.options, images, 40, images);
        const cv::Mat out = forward(net, batch);
        ASSERT_EQ(out.size[0], images);
        for (int i = 0; i < images; ++i)
            EXPECT_LT(relativeError(imageOf(out, i), oracle(encoder, batch, i)), 1e-4);
    }
}

/// A computed weight has the same address in every forward, so the layer must not conclude from the address
/// that the values are the same.
TEST_F(DnnTest, ComputedWeightsAreTakenAnew) {
    OnnxModel model;
    model.input("x", {1, 5, 4}).input("w", {4, 3}).constant("two", cv::Mat(1, 1, CV_32F, cv::Scalar(2)), {1});
    model.node("Mul", {"w", "two"}, {"w2"}).node("MpmLinear", {"x", "w2"}, {"y"}, "mpm");
    model.output("y", {1, 5, 3});
    cv::dnn::Net net = load(model);
    const int sizes[] = {1, 5, 4};
    for (const float value : {1.0f, 3.0f, 5.0f}) {
        net.setInput(cv::Mat(3, sizes, CV_32F, cv::Scalar(1)), "x");
        net.setInput(cv::Mat(4, 3, CV_32F, cv::Scalar(value)), "w");
        EXPECT_FLOAT_EQ(net.forward().ptr<float>()[0], 8 * value);
    }
}

TEST_F(DnnTest, EveryTapIsAnOutput) {
    EncoderOptions o = options();
    o.taps = {0, 2};
    o.tapNorm = {0, 1};
    const EncoderCase encoder = makeEncoder(o);
    cv::dnn::Net net = load(encoderModel(encoder, 1, 40));
    const cv::Mat batch = makeBatch(o, 1, 40, 4);
    setInput(net, batch);
    std::vector<cv::Mat> outputs;
    net.forward(outputs, std::vector<cv::String>{"tokens0", "tokens1"});
    const OracleOutput expected =
        oracleEncoder(encoder.config, encoder.weights, toRows(imageOf(batch, 0)), {});
    for (int t = 0; t < 2; ++t) {
        EXPECT_LT(relativeError(imageOf(outputs[t], 0), toMatrix(expected.taps[t], o.dim())), 1e-4)
            << "tap " << t;
    }
}

// Without special tokens and with only global blocks, windows must not change the results.
TEST_F(DnnTest, WindowsComeFromAFile) {
    EncoderOptions o = options();
    o.special = 0, o.schedule = {};
    const EncoderCase plain = makeEncoder(o);
    o.grid = cv::Size(8, 5), o.window = cv::Size(4, 3), o.padding = true, o.globalBlocks = {0, 1, 2};
    const EncoderCase global = makeEncoder(o);
    o.special = 2, o.globalBlocks = {1}, o.schedule = {2};
    const EncoderCase windowed = makeEncoder(o);
    const cv::Mat batch = makeBatch(plain.options, 1, 40, 3);
    cv::dnn::Net net = load(encoderModel(global, 1, 40));
    EXPECT_LT(relativeError(imageOf(forward(net, batch), 0), oracle(plain, batch, 0)), 1e-4);
    cv::dnn::Net merging = load(encoderModel(windowed, -1, 40));
    Encoder handle = mpm::encoder(merging);
    EXPECT_EQ(handle.specialTokens(), 8);
    for (const int images : {1, 2}) {
        EXPECT_EQ(forward(merging, makeBatch(o, images, 40, 3)).size[1], 48);
        const ImageReport image = handle.report().images.at(images - 1);
        EXPECT_EQ(image.map.total(), 40u);
        EXPECT_LT(image.tokens[2], 40);
        const std::vector<std::vector<int>> tokens = handle.tokensByWindow(images - 1);
        EXPECT_EQ(tokens[0], (std::vector<int>{12, 12, 8, 8}));
        EXPECT_EQ(std::accumulate(tokens[2].begin(), tokens[2].end(), 0), image.tokens[2]);
        for (int w = 0; w < 4; ++w) {
            std::set<int> clusters;
            for (int t = 0; t < 40; ++t)
                if (t / 8 / 3 * 2 + t % 8 / 4 == w) clusters.insert(image.map.at<int>(t));
            EXPECT_EQ(tokens[2][w], static_cast<int>(clusters.size()));
        }
    }
}

TEST_F(DnnTest, HandleChangesTheScheduleWithoutReload) {
    const EncoderCase encoder = makeEncoder(options());
    cv::dnn::Net net = load(encoderModel(encoder, 1, 40));
    Encoder handle = mpm::encoder(net);
    EXPECT_EQ(handle.blocks(), 3);
    EXPECT_EQ(handle.heads(), 3);
    EXPECT_EQ(handle.specialTokens(), 1);
    EXPECT_EQ(handle.schedule(), std::vector<int>{1});
    EXPECT_TRUE(handle.report().images.empty());
    const cv::Mat batch = makeBatch(encoder.options, 1, 40, 1);
    for (const std::vector<int>& schedule : {std::vector<int>{}, {0}, {0, 1, 2}, {}, {2}}) {
        handle.setSchedule(schedule);
        EncoderCase changed = makeEncoder(encoder.options);
        changed.config.schedule = schedule;
        EXPECT_LT(relativeError(imageOf(forward(net, batch), 0), oracle(changed, batch, 0)), 1e-4);
        const Report report = handle.report();
        ASSERT_EQ(report.images.size(), 1u);
        EXPECT_EQ(report.images[0].stages.size(), schedule.size());
        EXPECT_EQ(report.images[0].map.total(), 40u);
        EXPECT_EQ(report.device, Device::Cpu);
        EXPECT_EQ(report.precision, Precision::F32);
        EXPECT_GT(report.times.whole, 0);
        EXPECT_EQ(handle.dim(), 24);
    }
}

TEST_F(DnnTest, AttributesOfNormsAndParallelBlocks) {
    EncoderOptions o = options();
    o.qkNorm = o.mlpNorm = true;
    for (const bool parallel : {false, true}) {
        for (const auto& [norm, inner] :
             {std::pair(NormKind::Rms, NormKind::Rms), std::pair(NormKind::Rms, NormKind::Layer),
              std::pair(NormKind::Layer, NormKind::Rms)}) {
            o.parallel = parallel, o.norm = norm, o.innerNorm = inner;
            const EncoderCase encoder = makeEncoder(o);
            const cv::Mat batch = makeBatch(o, 1, 40, 1);
            cv::dnn::Net net = load(encoderModel(encoder, 1, 40));
            EXPECT_LT(relativeError(imageOf(forward(net, batch), 0), oracle(encoder, batch, 0)), 1e-4);
        }
    }
}

TEST_F(DnnTest, ReportComposesItsStages) {
    EncoderOptions o = options();
    o.schedule = {0, 2};
    const EncoderCase encoder = makeEncoder(o);
    cv::dnn::Net net = load(encoderModel(encoder, -1, 40));
    Encoder handle = mpm::encoder(net);
    forward(net, makeBatch(o, 2, 40, 9));
    for (const ImageReport& image : handle.report().images) {
        ASSERT_EQ(image.stages.size(), 2u);
        EXPECT_EQ(image.stages[0].block, 0);
        EXPECT_EQ(image.stages[1].block, 2);
        EXPECT_TRUE(sameBits(image.map, composeMaps(image.stages[0].map, image.stages[1].map)));
        EXPECT_EQ(image.tokens,
                  (std::vector<int>{image.stages[0].tokens, image.stages[0].tokens, image.stages[1].tokens}));
    }
}

TEST_F(DnnTest, ReportIsTheCallersOwn) {
    cv::dnn::Net net = load(encoderModel(makeEncoder(options()), 1, 40));
    Encoder handle = mpm::encoder(net);
    forward(net, makeBatch(options(), 1, 40, 9));
    Report first = handle.report();
    const cv::Mat map = first.images[0].map.clone(), stage = first.images[0].stages[0].map.clone();
    first.images[0].map.setTo(-7);
    first.images[0].stages[0].map.setTo(-7);
    const Report second = handle.report();
    EXPECT_TRUE(sameBits(second.images[0].map, map));
    EXPECT_TRUE(sameBits(second.images[0].stages[0].map, stage));
    std::vector<int> ids(40);
    ASSERT_EQ(mpm_report_map(0, ids.data(), 40), 40);
    EXPECT_EQ(ids, std::vector<int>(map.begin<int>(), map.end<int>()));
    handle.setReuse(Reuse{});
    forward(net, makeBatch(options(), 1, 40, 9));
    ReuseReport reused = handle.report().images[0].reuse;
    ASSERT_EQ(reused.ages.total(), 40U);
    reused.reasons.setTo(9);
    reused.ages.setTo(9);
    EXPECT_EQ(cv::countNonZero(handle.report().images[0].reuse.ages), 0);
    EXPECT_LT(handle.report().images[0].reuse.reasons.at<uchar>(0), 9);
}

TEST_F(DnnTest, HandleBeatsCInterfaceBeatsEnvironmentBeatsFile) {
    const EncoderCase encoder = makeEncoder(options());
    cv::dnn::Net net = load(encoderModel(encoder, 1, 40));
    Encoder handle = mpm::encoder(net);
    const cv::Mat batch = makeBatch(encoder.options, 1, 40, 1);
    const auto block = [&] {
        forward(net, batch);
        const std::vector<Stage> stages = handle.report().images[0].stages;
        return stages.empty() ? -1 : stages[0].block;
    };
    EXPECT_EQ(block(), 1);
    setenv("MPM_BLOCKS", "2", 1);
    EXPECT_EQ(block(), 2);
    setenv("MPM_BLOCKS", "none", 1);
    EXPECT_EQ(block(), -1);
    ASSERT_EQ(mpm_set_blocks("0"), 0);
    EXPECT_EQ(block(), 0);
    handle.setSchedule({2});
    EXPECT_EQ(block(), 2);
    ASSERT_EQ(mpm_set_blocks(nullptr), 0);
    EXPECT_EQ(block(), 2);
}

TEST_F(DnnTest, CInterfaceReadsTheThreadsReport) {
    EncoderOptions o = options();
    const EncoderCase encoder = makeEncoder(o);
    cv::dnn::Net net = load(encoderModel(encoder, -1, 40));
    forward(net, makeBatch(o, 2, 40, 9));
    const Report report = mpm::encoder(net).report();
    ASSERT_EQ(mpm_report_images(), 2);
    for (int i = 0; i < 2; ++i) {
        std::vector<int> map(40), tokens(3), stage(40);
        EXPECT_EQ(mpm_report_map_size(i), 40);
        EXPECT_EQ(mpm_report_map(i, map.data(), 40), 40);
        EXPECT_EQ(map, std::vector<int>(report.images[i].map.begin<int>(), report.images[i].map.end<int>()));
        EXPECT_EQ(mpm_report_tokens(i, tokens.data(), 3), 3);
        EXPECT_EQ(tokens, report.images[i].tokens);
        EXPECT_EQ(mpm_report_stages(i), 1);
        int block = 0, left = 0;
        EXPECT_EQ(mpm_report_stage(i, 0, &block, &left), 0);
        EXPECT_EQ(block, 1);
        EXPECT_EQ(left, tokens[2]);
        EXPECT_EQ(mpm_report_stage_map(i, 0, stage.data(), 40), 40);
        EXPECT_EQ(stage, map);
    }
    EXPECT_GT(mpm_report_whole_ms(), 0);
    EXPECT_EQ(mpm_report_map(2, nullptr, 0), -1);
    EXPECT_NE(std::string(mpm_last_error()).find("image 2"), std::string::npos);
    std::thread([] { EXPECT_EQ(mpm_report_images(), 0); }).join();
    EXPECT_EQ(mpm_set_blocks("2;5"), -1);
    EXPECT_NE(std::string(mpm_last_error()).find("2;5"), std::string::npos);
    EXPECT_EQ(mpm_set_device("cuda:0"), -1);
    EXPECT_EQ(mpm_set_device("gpu"), -1);
    EXPECT_EQ(mpm_set_precision("double"), -1);
}

TEST_F(DnnTest, DecoderBlocksDoNotMerge) {
    // The schedule of a decoder cannot be set, neither by a handle nor by an environment variable.
    const EncoderCase encoder = makeEncoder(options());
    OnnxModel model = encoderModel(encoder, 1, 40);
    model.attribute("role", std::string("decoder"));
    cv::dnn::Net net = load(model);
    EXPECT_THROW(mpm::encoder(net), cv::Exception);
    setenv("MPM_BLOCKS", "0,1,2", 1);
    const cv::Mat batch = makeBatch(encoder.options, 1, 40, 1);
    EncoderCase plain = makeEncoder(encoder.options);
    plain.config.schedule = {};
    EXPECT_LT(relativeError(imageOf(forward(net, batch), 0), oracle(plain, batch, 0)), 1e-4);
}

OnnxModel mergeRestoreModel(int special, const std::vector<std::string>& mergeOutputs, int batch, int tokens,
                            int dim) {
    OnnxModel model;
    model.input("tokens", {batch, special + tokens, dim});
    model.node("MpmMerge", {"tokens"}, mergeOutputs, "mpm").attribute("special_tokens", special);
    return model;
}

TEST_F(DnnTest, MergeThenRestore) {
    for (int special : {0, 1, 2, 5}) {
        OnnxModel model = mergeRestoreModel(special, {"merged", "map", "counts"}, 2, 30, 16);
        model.node("MpmRestore", {"merged", "map"}, {"full"}, "mpm").attribute("special_tokens", special);
        model.output("full", {2, special + 30, 16});
        cv::dnn::Net net = load(model);
        EncoderOptions o;
        o.heads = 2, o.special = special;
        for (unsigned seed = 0; seed < 6; ++seed) {  // the number of clusters rises and falls
            const cv::Mat batch = makeBatch(o, 2, 30, seed);
            const cv::Mat out = forward(net, batch);
            for (int i = 0; i < 2; ++i) {
                const Merged merged = mergeTokens(imageOf(batch, i), special);
                EXPECT_TRUE(sameBits(imageOf(out, i), restoreTokens(merged.tokens, merged.map, special)));
            }
        }
    }
}

TEST_F(DnnTest, MergeHandsOutMapAndCounts) {
    OnnxModel model = mergeRestoreModel(1, {"merged", "map", "counts"}, 2, 30, 16);
    // The three outputs of MpmMerge are outputs of the model, because an engine may drop unused outputs.
    model.output("merged", {2, -1, 16}).output("map", {2, 30}, true).output("counts", {2}, true);
    cv::dnn::Net net;
    try {
        net = load(model);
    } catch (const cv::Exception&) {
        GTEST_SKIP() << "this OpenCV loads no graph with integer outputs";
    }
    EncoderOptions o;
    o.heads = 2;
    const cv::Mat batch = makeBatch(o, 2, 30, 3);
    setInput(net, batch);
    std::vector<cv::Mat> out;
    net.forward(out, std::vector<cv::String>{"merged", "map", "counts"});
    for (int i = 0; i < 2; ++i) {
        const Merged merged = mergeTokens(imageOf(batch, i), 1);
        cv::Mat map, counts;
        out[1].convertTo(map, CV_32F);
        out[2].convertTo(counts, CV_32F);
        EXPECT_EQ(counts.ptr<float>()[i], static_cast<float>(merged.tokens.rows - 1));
        for (int t = 0; t < 30; ++t)
            EXPECT_EQ(map.ptr<float>()[30 * i + t], static_cast<float>(merged.map.at<int>(t)));
        const cv::Mat rows = imageOf(out[0], i);
        EXPECT_TRUE(sameBits(rows.rowRange(0, merged.tokens.rows), merged.tokens));
        if (rows.rows > merged.tokens.rows) {
            EXPECT_EQ(cv::norm(rows.rowRange(merged.tokens.rows, rows.rows), cv::NORM_INF), 0)
                << "padding is zero";
        }
    }
}

TEST_F(DnnTest, MergeWithOutputsLeftUnconnected) {
    for (const std::vector<std::string>& outputs :
         {std::vector<std::string>{"merged"}, {"merged", "unused", "unused2"}}) {
        OnnxModel model = mergeRestoreModel(1, outputs, 1, 30, 16);
        model.node("Relu", {"merged"}, {"out"}).output("out", {1, 31, 16});
        cv::dnn::Net net = load(model);
        EncoderOptions o;
        o.heads = 2;
        const cv::Mat batch = makeBatch(o, 1, 30, 3);
        const cv::Mat out = forward(net, batch);
        const Merged merged = mergeTokens(imageOf(batch, 0), 1);
        const cv::Mat rows = imageOf(out, 0).rowRange(0, merged.tokens.rows);
        EXPECT_EQ(cv::norm(rows, cv::max(merged.tokens, 0), cv::NORM_INF), 0);
    }
}

#if CV_VERSION_MAJOR >= 5
TEST_F(DnnTest, StandardOperatorsBetweenMergeAndRestore) {
    if (!hasDynamicShapes()) GTEST_SKIP() << "the classic engine has no dynamic shapes";
    OnnxModel model = mergeRestoreModel(1, {"merged", "map", "counts"}, 1, 30, 16);
    model.constant("bias", randomMatrix(1, 16, 5), {16});
    model.constant("weight", randomMatrix(16, 16, 6, 0.25));
    model.node("MatMul", {"merged", "weight"}, {"product"}).node("Add", {"product", "bias"}, {"sum"});
    model.node("MpmRestore", {"sum", "map"}, {"full"}, "mpm").output("full", {1, 31, 16});
    cv::dnn::Net net = load(model);
    EncoderOptions o;
    o.heads = 2;
    for (unsigned seed = 0; seed < 8; ++seed) {
        const cv::Mat batch = makeBatch(o, 1, 30, seed);
        const Merged merged = mergeTokens(imageOf(batch, 0), 1);
        const cv::Mat product = merged.tokens * randomMatrix(16, 16, 6, 0.25) +
                                cv::repeat(randomMatrix(1, 16, 5), merged.tokens.rows, 1);
        EXPECT_LT(relativeError(imageOf(forward(net, batch), 0), restoreTokens(product, merged.map, 1)),
                  1e-5);
    }
}
#endif

TEST_F(DnnTest, ANetReusedEqualsAFreshOne) {
    EncoderOptions o = options();
    o.schedule = {0, 1, 2};
    const OnnxModel model = encoderModel(makeEncoder(o), 1, 40);
    cv::dnn::Net reused = load(model);
    for (unsigned seed = 0; seed < 12; ++seed) {
        const cv::Mat batch = makeBatch(o, 1, 40, seed);
        cv::dnn::Net fresh = load(model);
        EXPECT_TRUE(sameBits(forward(reused, batch), forward(fresh, batch))) << "image " << seed;
    }
}

TEST_F(DnnTest, TwoNetsInTwoThreads) {
    const OnnxModel model = encoderModel(makeEncoder(options()), 1, 40);
    const std::string path = m_folder.path() + "/model.onnx";
    model.write(path);
    const auto work = [&](unsigned seed, cv::Mat& result) {
        cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
        for (int i = 0; i < 20; ++i)
            result = forward(net, makeBatch(options(), 1, 40, seed));
    };
    cv::Mat alone[2], together[2];
    for (unsigned i : {0u, 1u})
        work(i, alone[i]);
    std::thread first(work, 0u, std::ref(together[0])), second(work, 1u, std::ref(together[1]));
    first.join();
    second.join();
    for (int i : {0, 1})
        EXPECT_TRUE(sameBits(alone[i], together[i]));
}

TEST_F(DnnTest, RegisteringAgainIsHarmless) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([] { registerLayers(); });
    for (std::thread& t : threads)
        t.join();
}

}  // namespace
}  // namespace mpm::test
