// Wrong use of the layers inside cv::dnn: each is refused with words that name it, and nothing is lost.
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

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
    expectRefusal([&] { handle.setMaps(0, {cv::Mat(1, 40, CV_32S, cv::Scalar(1))}); }, "leaves out id 0");
    EXPECT_EQ(handle.schedule(), std::vector<int>{1}) << "a refusal changes nothing";
    const cv::Mat batch = makeBatch(options(), 1, 40, 1);
    EXPECT_NO_THROW(forward(net, batch));
    handle.setMaps(0, {cv::Mat(1, 7, CV_32S, cv::Scalar(0))});
    expectRefusal([&] { forward(net, batch); }, "7 tokens");
    handle.clearMaps();
    EXPECT_NO_THROW(forward(net, batch)) << "a failed forward leaves the net usable";
    setenv("MPM_BLOCKS", "9", 1);
    Encoder fresh = mpm::encoder(net);
    expectRefusal([&] { forward(net, batch); }, "block 9");
    setenv("MPM_BLOCKS", "two", 1);
    expectRefusal([&] { forward(net, batch); }, "two");
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
            bad.options.heads = 5;  // 24 columns do not divide
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
