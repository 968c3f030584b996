// Converts small exports of current packages. The result must have the number of blocks in `expect.txt`, and
// OpenCV must compute the values in the output files. Each folder is a case.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>
#include <mpm/read_net.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/io/read.hpp"
#include "support/npy.hpp"
#include "support/shared.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;
namespace fs = std::filesystem;

std::string todayFolder() {
    return test::sharedDir() + "/fixtures/today";
}

std::vector<std::string> todayNames() {
    std::vector<std::string> names;
    if (fs::is_directory(todayFolder())) {
        for (const auto& entry : fs::directory_iterator(todayFolder()))
            if (entry.is_directory()) names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    if (names.empty()) names.push_back("none");
    return names;
}

struct Expected {
    models::ConvertOptions options;  ///< without merging
    int blocks = 0;
};

std::vector<std::string> listOf(const std::string& text) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');)
        parts.push_back(part);
    return parts;
}

// Reads `expect.txt`: a line of command-line options, then the number of blocks.
Expected readExpected(const std::string& path) {
    Expected expected;
    expected.options.blocks = std::vector<int>{};
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    std::istringstream options(line);
    for (std::string name, value; options >> name >> value;) {
        if (name == "--outputs")
            expected.options.outputs = listOf(value);
        else
            ADD_FAILURE() << path << ": this test does not support " << name;
    }
    EXPECT_TRUE(file >> expected.blocks) << path;
    return expected;
}

class TodayExports : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (GetParam() == "none") GTEST_SKIP() << todayFolder() << " is not here";
        base = todayFolder() + "/" + GetParam() + "/";
    }

    // Returns whether the folder has files for a second image size, such as input2.npy.
    bool hasSecondSize() const { return test::fileExists(base + "input2.npy"); }

    std::string outputFile(size_t number) const {
        return base + "output" + (number ? std::to_string(number) : "") + ".npy";
    }

    std::vector<cv::Mat> convertAndRun(const Expected& expected, const cv::Mat& image) {
        const test::TempFolder scratch;
        const std::string path = scratch / "converted.onnx";
        conversion = models::convertModel(base + "model.onnx", path, expected.options);
        EXPECT_EQ(conversion.blocks, expected.blocks);
        EXPECT_LT(conversion.error, 1e-5);
        std::vector<cv::String> names;
        for (const models::Port& port : models::readModel(path).outputs)
            names.push_back(port.name);
        cv::dnn::Net net = readNet(path);
        encoder(net).setPrecision(Precision::F32);
        net.setInput(image);
        std::vector<cv::Mat> outputs;
        net.forward(outputs, names);
        return outputs;
    }

    static void compare(const cv::Mat& found, const std::string& path) {
        const cv::Mat expected = test::readNpy(path).mat().reshape(1, 1);
        ASSERT_EQ(found.total(), expected.total()) << path;
        cv::Mat a, b;
        found.reshape(1, 1).convertTo(a, CV_64F);
        expected.convertTo(b, CV_64F);
        EXPECT_LT(cv::norm(a, b, cv::NORM_INF), 1e-5 * cv::norm(b, cv::NORM_INF)) << path;
    }

    std::string base;
    models::Conversion conversion;
};

TEST_P(TodayExports, ConvertAndAgree) {
    const cv::Mat image = test::readNpy(base + "input.npy").mat();
    const std::vector<cv::Mat> outputs = convertAndRun(readExpected(base + "expect.txt"), image);
    ASSERT_FALSE(outputs.empty());
    for (size_t k = 0; k < outputs.size(); ++k) {
        if (hasSecondSize() && k == 2) continue;
        compare(outputs[k], outputFile(k));
    }
}

TEST_P(TodayExports, ConvertAndAgreeAtAnotherSize) {
    if (!hasSecondSize()) GTEST_SKIP() << "has files of one size";
    Expected expected = readExpected(base + "expect.txt");
    const cv::Mat image = test::readNpy(base + "input2.npy").mat();
    expected.options.size = {image.size[3], image.size[2]};
    compare(convertAndRun(expected, image).at(0), base + "output2.npy");
}

INSTANTIATE_TEST_SUITE_P(Made, TodayExports, testing::ValuesIn(todayNames()),
                         [](const auto& model) { return model.param; });

}  // namespace
