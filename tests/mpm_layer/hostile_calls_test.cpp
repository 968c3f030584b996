// Calls the public header, the C interface and the reader of metadata with invalid values. Each call must end
// with an exception or an error code.
#include <cmath>
#include <fstream>
#include <limits>
#include <utility>

#include <sys/stat.h>

#include <gtest/gtest.h>

#include <mpm/mpm.h>
#include <mpm/mpm.hpp>

#include "support/onnx_model.hpp"
#include "support/refusal.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {
namespace {

constexpr int kLargest = std::numeric_limits<int>::max();

ModelInfo infoOf(OnnxModel& model) {
    const TempFolder folder;
    model.write(folder / "model.onnx");
    return modelInfo(folder / "model.onnx");
}

ModelInfo infoWith(const std::string& key, const std::string& value, const Dims& input = {1, 3, 8, 16}) {
    OnnxModel model;
    model.input("image", input).node("Relu", {"image"}, {"out"}).output("out", input);
    model.metadata(key, value);
    return infoOf(model);
}

TEST(HostileMetadata, SizesHaveALimit) {
    for (const char* size : {"[32768, 32768]", "[32768, 4097]", "[65536, 1]", "[536870912, 1]",
                             "[1, 2147483648]", "[4294967297, 8]"})
        expectRefusal([&] { infoWith("mpm.size", size); }, "metadata mpm.size");
    EXPECT_EQ(infoWith("mpm.size", "[8736, 11648]").size, cv::Size(11648, 8736)) << "100 megapixels";
    for (const Dims& input : {Dims{1, 3, 1 << 29, 1}, {1, 3, 32768, 32768}, {1, 3, 8, 40000}})
        expectRefusal([&] { infoWith("mpm.labels", "[]", input); }, "the input of");
    EXPECT_TRUE(infoWith("mpm.labels", "[]", {1, 3, -1, -1}).size.empty());
}

TEST(HostileMetadata, NothingIsAllocatedForAnImpossibleSize) {
    const cv::Mat image(4, 4, CV_8UC3, cv::Scalar(0));
    for (const cv::Size size : {cv::Size(32768, 32768), cv::Size(1, 1 << 29), cv::Size(kLargest, kLargest),
                                cv::Size(-4, 4), cv::Size(40000, 1)}) {
        ModelInfo info;
        info.size = size;
        expectRefusal([&] { blobFromImage(image, info); }, "info.size");
    }
}

TEST(HostileMetadata, NumbersThatCannotBeDividedBy) {
    const cv::Mat image(4, 4, CV_8UC3, cv::Scalar(0));
    ModelInfo info;
    info.size = cv::Size(4, 4);
    for (const auto& [mean, std] :
         std::vector<std::pair<double, double>>{{0.5, 1e-320}, {1e300, 0.1}, {1, 1e-45}}) {
        info.mean[1] = mean;
        info.std[1] = std;
        expectRefusal([&] { blobFromImage(image, info); }, "info.std is too small");
    }
}

TEST(HostileMetadata, DeepAndLongTexts) {
    for (const char* key : {"mpm.labels", "mpm.palette", "mpm.size", "mpm.schedule"}) {
        expectRefusal([&] { infoWith(key, std::string(1 << 19, '[')); }, std::string("metadata ") + key);
        expectRefusal([&] { infoWith(key, std::string(1000, '[') + std::string(1000, ']')); },
                      std::string("metadata ") + key);
    }
    try {
        infoWith("mpm.size", "\x1b]0;title\x07" + std::string(100000, 'x'));
        FAIL();
    } catch (const cv::Exception& e) {
        EXPECT_EQ(e.err.find('\x1b'), std::string::npos);
        EXPECT_LT(e.err.size(), 800u);
    }
}

TEST(HostileMetadata, FilesThatAreNone) {
    const TempFolder folder;
    const std::string pipe = folder / "pipe.onnx", sparse = folder / "zeros.onnx", odd = folder / "odd.onnx";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    expectRefusal([&] { modelInfo(pipe); }, "is not a file");
    expectRefusal([&] { modelInfo("/dev/zero"); }, "is not a file");
    expectRefusal([&] { modelInfo(folder.path()); }, "is not a file");
    expectRefusal([&] { modelInfo(folder / "absent.onnx"); }, "cannot open");
    expectRefusal([&] { modelInfo(""); }, "cannot open");
    // A sparse file of 64 GiB needs no disk space. The reader must reject the file without reading all of it.
    std::ofstream(sparse).put('\0');
    ASSERT_EQ(truncate(sparse.c_str(), off_t{64} << 30), 0);
    expectRefusal([&] { modelInfo(sparse); }, "damaged");
    // The bytes have a field number that protobuf does not allow, a length beyond the end, or a group.
    for (const std::string& bytes :
         {std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 11),
          std::string("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), std::string("\x3b\x3c")}) {
        std::ofstream(odd, std::ios::binary | std::ios::trunc) << bytes;
        expectRefusal([&] { modelInfo(odd); }, "damaged");
    }
}

TEST(HostileMetadata, ManyDimensions) {
    OnnxModel model;
    model.input("image", Dims(10000, 7)).node("Relu", {"image"}, {"out"}).output("out", {1});
    EXPECT_TRUE(infoOf(model).size.empty());
}

TEST(HostileCalls, TokensAndMaps) {
    const cv::Mat tokens(4, 3, CV_32F, cv::Scalar(1)), map(1, 4, CV_32S, cv::Scalar(0));
    for (const cv::Mat& bad :
         {cv::Mat(), cv::Mat(4, 3, CV_64F), cv::Mat(4, 3, CV_32FC2), cv::Mat(4, 3, CV_8U)}) {
        expectRefusal([&] { mergeTokens(bad); }, "tokens must be");
        expectRefusal([&] { restoreTokens(bad, map); }, "tokens must be");
    }
    for (int special : {-1, 5, kLargest, std::numeric_limits<int>::min()}) {
        expectRefusal([&] { mergeTokens(tokens, special); }, "special must lie in");
        expectRefusal([&] { restoreTokens(tokens, map, special); }, "special must lie in");
    }
    for (int id : {-1, 4, kLargest, std::numeric_limits<int>::min()}) {
        const cv::Mat bad(1, 4, CV_32S, cv::Scalar(id));
        expectRefusal([&] { restoreTokens(tokens, bad); }, "has id");
        expectRefusal([&] { composeMaps(bad, map); }, "has id");
        expectRefusal([&] { composeMaps(map, bad); }, "has id");
    }
    // These matrices have invalid memory. The calls must reject their sizes before they read an element.
    float value = 0;
    const cv::Mat wide(kLargest, 2, CV_32F, &value, sizeof(float) * 2),
        tall(1 << 20, 1 << 20, CV_32F, &value, size_t{4} << 20);
    expectRefusal([&] { mergeTokens(wide); }, "mpm: tokens cannot be");
    expectRefusal([&] { restoreTokens(tall, map); }, "mpm: tokens cannot be");
}

TEST(HostileCalls, HandlesOfNothing) {
    registerLayers();
    expectRefusal([] { Encoder(nullptr); }, "control");
    cv::dnn::Net net;
    expectRefusal([&] { mpm::encoder(net); }, "no MpmEncoder");
}

TEST(HostileCalls, HandlesThatWereMovedFrom) {
    registerLayers();
    const TempFolder folder;
    EncoderOptions options;
    encoderModel(makeEncoder(options), 1, 24).write(folder / "model.onnx");
    cv::dnn::Net net = cv::dnn::readNetFromONNX(folder / "model.onnx");
    Encoder first = mpm::encoder(net);
    const Encoder second = std::move(first);
    EXPECT_EQ(second.blocks(), 3);
    expectRefusal([&] { first.blocks(); }, "moved from");
    expectRefusal([&] { first.setSchedule({1}); }, "moved from");
    expectRefusal([&] { first.report(); }, "moved from");
    expectRefusal([&] { first.setPrecision(Precision::F32); }, "moved from");
    Encoder handle = second;
    expectRefusal([&] { handle.setDevice(static_cast<Device>(99)); }, "device must be");
    EXPECT_THROW(handle.setPrecision(static_cast<Precision>(99)), cv::Exception);
    expectRefusal([&] { handle.setMethod(std::string(1 << 20, 'x')); }, "is not known");
    float value = 0;
    expectRefusal([&] { handle.forwardOnDevice(&value, kLargest, kLargest, {&value}); }, "");
    expectRefusal([&] { handle.forwardOnDevice(nullptr, 1, 1, {}); }, "");
}

TEST(HostileCalls, TheCInterfaceAnswersWithCodes) {
    const std::string longText(1 << 20, '\x1b');
    for (const auto set :
         {mpm_set_blocks, mpm_set_method, mpm_set_device, mpm_set_precision, mpm_set_batch_independent}) {
        EXPECT_EQ(set(longText.c_str()), -1);
        EXPECT_LT(std::string(mpm_last_error()).size(), 600u);
        EXPECT_EQ(std::string(mpm_last_error()).find('\x1b'), std::string::npos);
        EXPECT_EQ(set(""), -1);
        EXPECT_EQ(set(nullptr), 0);
    }
    for (int image : {-1, 1 << 20, kLargest, std::numeric_limits<int>::min()}) {
        int value = 0;
        EXPECT_EQ(mpm_report_map_size(image), -1);
        EXPECT_EQ(mpm_report_map(image, nullptr, kLargest), -1);
        EXPECT_EQ(mpm_report_tokens(image, &value, 1), -1);
        EXPECT_EQ(mpm_report_stages(image), -1);
        EXPECT_EQ(mpm_report_stage(image, image, nullptr, nullptr), -1);
        EXPECT_EQ(mpm_report_stage_map(image, image, nullptr, -1), -1);
        EXPECT_NE(std::string(mpm_last_error()).find("is not in this thread's last report"),
                  std::string::npos);
    }
}

TEST(HostileCalls, ReportsIntoWhatTheCallerGives) {
    registerLayers();
    const TempFolder folder;
    EncoderOptions options;
    options.schedule = {1};
    encoderModel(makeEncoder(options), 1, 24).write(folder / "model.onnx");
    cv::dnn::Net net = cv::dnn::readNetFromONNX(folder / "model.onnx");
    net.setInput(makeBatch(options, 1, 24, 1));
    net.forward();
    int ids[3] = {7, 7, 7};
    EXPECT_EQ(mpm_report_map(0, ids, 2), 24);
    EXPECT_EQ(ids[2], 7);
    EXPECT_EQ(mpm_report_map(0, nullptr, 5), -1);
    EXPECT_EQ(mpm_report_map(0, nullptr, 0), 24);
    EXPECT_EQ(mpm_report_map(0, ids, -3), 24);
    EXPECT_EQ(mpm_report_tokens(0, nullptr, std::numeric_limits<int>::min()), 3);
    EXPECT_EQ(mpm_report_stage(0, 1, nullptr, nullptr), -1);
    EXPECT_EQ(mpm_report_stage(0, 0, nullptr, nullptr), 0);
}

}  // namespace
}  // namespace mpm::test
