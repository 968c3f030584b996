// Tests that layers inside cv::dnn reject wrong use with a message that names the mistake. Afterwards, the
// network still works.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include <mpm/precisions.hpp>

#include "dnn_fixture.hpp"
#include "support/refusal.hpp"

namespace mpm::test {
namespace {

TEST_F(DnnTest, WrongUseOfTheHandle) {
    cv::dnn::Net net = load(encoderModel(makeEncoder(options()), 1, 40));
    Encoder handle = mpm::encoder(net);
    expectRefusal([&] { handle.setSchedule({3}); }, "block 3");
    expectRefusal([&] { handle.setSchedule({-1}); }, "block -1");
    expectRefusal([&] { handle.setSchedule({1, 0}); }, "increasing");
    expectRefusal([&] { handle.setSchedule({1, 1}); }, "increasing");
    expectRefusal([&] { handle.setMethod("best"); }, "best");
    expectRefusal([&] { handle.setDevice(Device::Cuda); }, "cuda");
    expectRefusal([&] { handle.setDevice(Device::Cpu, -1); }, "index");
    expectRefusal([&] { handle.setPrecision(Precision::TF32); }, "precision");
    expectRefusal([&] { handle.setMaps(-1, {cv::Mat(1, 40, CV_32S, cv::Scalar(0))}); }, "stage");
    expectRefusal([&] { handle.setMaps(0, {}); }, "map");
    expectRefusal([&] { handle.setMaps(0, {cv::Mat()}); }, "map");
    expectRefusal([&] { handle.setMaps(0, {cv::Mat(1, 40, CV_32S, cv::Scalar(1))}); }, "leaves out id 0");
    EXPECT_EQ(handle.schedule(), std::vector<int>{1}) << "a refusal changes nothing";
    const cv::Mat batch = makeBatch(options(), 1, 40, 1);
    EXPECT_NO_THROW(forward(net, batch));
    handle.setMaps(0, {cv::Mat(1, 7, CV_32S, cv::Scalar(0))});
    expectRefusal([&] { forward(net, batch); }, "7 tokens");
    handle.clearMaps();
    handle.setMaps(1, {cv::Mat(1, 40, CV_32S, cv::Scalar(0))});
    expectRefusal([&] { forward(net, batch); }, "setMaps named stage 1, but the schedule has stages 0..0");
    handle.setMethod("none");
    EXPECT_NO_THROW(forward(net, batch)) << "nothing merges: the maps wait";
    handle.setMethod("mpm");
    handle.clearMaps();
    EXPECT_NO_THROW(forward(net, batch)) << "a failed forward leaves the net usable";
    setenv("MPM_BLOCKS", "9", 1);
    Encoder fresh = mpm::encoder(net);
    expectRefusal([&] { forward(net, batch); }, "block 9");
    setenv("MPM_BLOCKS", "two", 1);
    expectRefusal([&] { forward(net, batch); }, "two");
}

TEST_F(DnnTest, BrokenVariablesAreNamed) {
    cv::dnn::Net net = load(encoderModel(makeEncoder(options()), 1, 40));
    const cv::Mat batch = makeBatch(options(), 1, 40, 1);
    const auto refused = [&](const char* name, const char* value, const std::string& words) {
        setenv(name, value, 1);
        expectRefusal([&] { forward(net, batch); }, words);
        unsetenv(name);
    };
    refused("MPM_DEVICE", "bogus", "mpm: MPM_DEVICE: device 'bogus' is not known");
    refused("MPM_PRECISION", "f33", "mpm: MPM_PRECISION: precision 'f33' is not known");
    refused("MPM_BLOCKS", "two", "mpm: MPM_BLOCKS: blocks 'two' are not a schedule");
    refused("MPM_BLOCKS", "9", "mpm: MPM_BLOCKS: schedule names block 9");
    refused("MPM_BLOCKS", "2,1", "mpm: MPM_BLOCKS: blocks '2,1' are not a schedule");
    refused("MPM_BATCH_INDEPENDENT", "maybe", "mpm: MPM_BATCH_INDEPENDENT: batch independence 'maybe'");
}

TEST_F(DnnTest, PrecisionsAreOneList) {
    for (const PrecisionInfo& info : precisions()) {
        EXPECT_EQ(mpm_set_precision(info.name.c_str()), 0) << info.name;
        EXPECT_NE(precisionNames().find(info.name), std::string::npos) << info.name;
        cv::dnn::Net net = load(encoderModel(makeEncoder(options()), 1, 40));
        Encoder handle = mpm::encoder(net);
        handle.setDevice(Device::Cpu);
        if (info.onProcessor && info.precision != Precision::BF16) {
            EXPECT_NO_THROW(handle.setPrecision(info.precision)) << info.name;
        } else if (!info.onProcessor) {
            EXPECT_THROW(handle.setPrecision(info.precision), cv::Exception) << info.name;
        }
    }
    EXPECT_EQ(precisions().size(), 7u);
    EXPECT_EQ(mpm_set_precision("bf8"), -1);
    EXPECT_NE(std::string(mpm_last_error()).find(precisionNames()), std::string::npos);
}

// If the handle or the C interface sets a value, the environment variable is ignored, valid or not.
TEST_F(DnnTest, BrokenVariablesDoNotDefeatTheHandle) {
    const cv::Mat batch = makeBatch(options(), 1, 40, 1);
    for (const char* name : {"MPM_DEVICE", "MPM_PRECISION", "MPM_BLOCKS", "MPM_BATCH_INDEPENDENT"})
        setenv(name, "bogus", 1);
    for (bool deviceFirst : {true, false}) {
        cv::dnn::Net net = load(encoderModel(makeEncoder(options()), 1, 40));
        Encoder handle = mpm::encoder(net);
        if (deviceFirst) handle.setDevice(Device::Cpu);
        handle.setPrecision(Precision::F32);
        if (!deviceFirst) handle.setDevice(Device::Cpu);
        handle.setSchedule({2});
        EXPECT_EQ(handle.schedule(), std::vector<int>{2});
        handle.setBatchIndependent(false);
        EXPECT_NO_THROW(forward(net, batch));
        EXPECT_EQ(handle.report().images[0].stages[0].block, 2);
    }
    unsetenv("MPM_BLOCKS");
    cv::dnn::Net net = load(encoderModel(makeEncoder(options()), 1, 40));
    EXPECT_EQ(mpm::encoder(net).schedule(), std::vector<int>{1}) << "asks for no device";
    ASSERT_EQ(mpm_set_device("cpu"), 0);
    ASSERT_EQ(mpm_set_precision("f32"), 0);
    ASSERT_EQ(mpm_set_batch_independent("off"), 0);
    EXPECT_NO_THROW(forward(net, batch));
}

TEST_F(DnnTest, BlocksOfTheProcessAreCheckedAtTheCall) {
    for (const char* blocks : {"", ",", "2,5,", ",2", "2,,5", "5,2", "2,2", "2, 5", "-1", "two", "none,2"}) {
        EXPECT_EQ(mpm_set_blocks(blocks), -1) << blocks;
        EXPECT_NE(std::string(mpm_last_error()).find("are not a schedule"), std::string::npos) << blocks;
    }
    cv::dnn::Net net = load(encoderModel(makeEncoder(options()), 1, 40));
    EXPECT_EQ(mpm::encoder(net).schedule(), std::vector<int>{1}) << "a refusal changes nothing";
    EXPECT_EQ(mpm_set_blocks("0,2"), 0);
    EXPECT_EQ(mpm::encoder(net).schedule(), (std::vector<int>{0, 2}));
    EXPECT_EQ(mpm_set_blocks("none"), 0);
    EXPECT_TRUE(mpm::encoder(net).schedule().empty());
}

TEST_F(DnnTest, WrongGraphs) {
    const EncoderCase good = makeEncoder(options());
    const cv::Mat batch = makeBatch(good.options, 1, 40, 1);
    const auto attempt = [&](OnnxModel model) {
        cv::dnn::Net net = load(model);
        forward(net, batch);
    };
    expectRefusal(
        [&] { attempt(std::move(encoderModel(good, 1, 40).attribute("rope", std::string("spiral")))); },
        "spiral");
    expectRefusal(
        [&] {
            EncoderCase bad = makeEncoder(options());
            bad.options.activation = "swish9";
            attempt(encoderModel(bad, 1, 40));
        },
        "swish9");
    expectRefusal(
        [&] {
            EncoderCase bad = makeEncoder(options());
            bad.options.heads = 5;  // 24 columns are not divisible by 5
            attempt(encoderModel(bad, 1, 40));
        },
        "");
    expectRefusal(
        [&] {
            EncoderCase bad = makeEncoder(options());
            bad.ordered.erase(bad.ordered.begin() + 4);
            attempt(encoderModel(bad, 1, 40));
        },
        "missing");
    cv::dnn::Net none;
    expectRefusal([&] { mpm::encoder(none); }, "MpmEncoder");
}

// A weight with a wrong name must be rejected: if it were ignored, all results would be wrong.
TEST_F(DnnTest, WeightsUnderWrongNames) {
    const cv::Mat batch = makeBatch(options(), 1, 40, 1);
    const auto refused = [&](const std::string& from, const std::string& to, const std::string& word,
                             EncoderOptions o = options()) {
        SCOPED_TRACE(from + " -> " + to);
        EncoderCase bad = makeEncoder(o);
        const auto named = std::find_if(bad.ordered.begin(), bad.ordered.end(),
                                        [&](const auto& weight) { return weight.first == from; });
        ASSERT_NE(named, bad.ordered.end());
        if (to.empty())
            bad.ordered.erase(named);
        else
            named->first = to;
        expectRefusal(
            [&] {
                cv::dnn::Net net = load(encoderModel(bad, 1, 40));
                forward(net, batch);
            },
            word);
    };
    EncoderOptions gated = options(), rotary = options();
    gated.gated = gated.qkNorm = true;
    rotary.rope = "half", rotary.imageTokens = 40;
    refused("0.qkv.bias", "0.qkv.bais", "0.qkv.bais");
    refused("0.fc1.bias", "00.fc1.bias", "00.fc1.bias");
    refused("2.fc2.bias", "3.fc2.bias", "3.fc2.bias");
    refused("1.norm1.bias", "norm3.bias", "norm3.bias");
    refused("1.norm1.bias", "key_bias", "key_bias");
    // OpenCV 5's new engine rejects two constants of the same name before the layer sees them.
    refused("1.fc1.bias", "1.fc2.bias", CV_VERSION_MAJOR < 5 ? "1.fc2.bias is named twice" : "");
    refused("1.norm1.weight", "", "1.norm1.weight is missing");
    refused("2.norm2.weight", "", "2.norm2.weight is missing");
    refused("norm.weight", "", "norm.weight is missing");
    refused("1.gate.weight", "", "1.gate.weight is missing", gated);
    refused("1.q_norm.weight", "", "1.q_norm.weight is missing", gated);
    refused("rope.sin", "", "rope.sin is missing", rotary);
    refused("rope.cos", "", "rope.cos is missing", rotary);
    EncoderOptions unnormed = options();
    unnormed.finalNorm = false, unnormed.tapNorm = {1};
    refused("1.norm1.bias", "", "norm.weight is missing", unnormed);
    EncoderCase plain = makeEncoder(options());
    plain.ordered.erase(plain.ordered.begin() + 1);
    cv::dnn::Net net = load(encoderModel(plain, 1, 40));
    EXPECT_NO_THROW(forward(net, batch)) << "a norm may do without a bias";
}

TEST_F(DnnTest, ImpossibleAttributes) {
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const cv::Mat batch = makeBatch(options(), 1, 40, 1);
    const auto refused = [&](const std::string& name, const auto& set) {
        SCOPED_TRACE(name);
        OnnxModel model = encoderModel(makeEncoder(options()), 1, 40);
        set(model);
        expectRefusal(
            [&] {
                cv::dnn::Net net = load(model);
                forward(net, batch);
            },
            name + " must be");
    };
    for (const char* name : {"epsilon", "inner_epsilon", "final_epsilon"}) {
        for (float value : {-1e-6f, kNaN, kInf})
            refused(name, [&](OnnxModel& model) { model.attribute(name, value); });
    }
    for (float value : {kNaN, kInf, -kInf})
        refused("scale", [&](OnnxModel& model) { model.attribute("scale", value); });
    for (const std::vector<int>& grid : {std::vector<int>{40}, {5, 8, 1}, {0, 40}, {-5, -8}})
        refused("grid", [&](OnnxModel& model) { model.ints("grid", grid); });
}

TEST_F(DnnTest, FilesCutInHalf) {
    const std::string bytes = encoderModel(makeEncoder(options()), 1, 40).bytes();
    const std::string path = m_folder.path() + "/cut.onnx";
    for (size_t size : {bytes.size() / 2, bytes.size() - 1, size_t{10}, size_t{0}}) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes.substr(0, size);
        expectRefusal([&] { modelInfo(path); }, "damaged");
        EXPECT_THROW(cv::dnn::readNetFromONNX(path), cv::Exception);
    }
}

}  // namespace
}  // namespace mpm::test
