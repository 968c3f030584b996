// Tests the metadata of a model file and the preprocessing from it, and invalid files and arguments.
#include <limits>

#include <gtest/gtest.h>

#include <mpm/mpm.h>
#include <mpm/read_net.hpp>

#include "support/onnx_model.hpp"
#include "support/refusal.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {
namespace {

ModelInfo infoWith(const std::string& key, const std::string& value) {
    OnnxModel model;
    model.input("picture", {1, 3, 8, 16}).node("Relu", {"picture"}, {"out"}).output("out", {1, 3, 8, 16});
    model.metadata(key, value);
    const TempFolder folder;
    model.write(folder / "model.onnx");
    return modelInfo(folder / "model.onnx");
}

TEST(ModelInfo, ReadsWhatIsThere) {
    EXPECT_EQ(infoWith("mpm.size", "[48, 64]").size, cv::Size(64, 48));
    EXPECT_EQ(infoWith("mpm.schedule", "[2, 5]").schedule, (std::vector<int>{2, 5}));
    EXPECT_TRUE(infoWith("mpm.schedule", "[]").schedule.empty());
    EXPECT_EQ(infoWith("mpm.palette", "[[255, 0, 7]]").palette, (std::vector<cv::Vec3b>{{255, 0, 7}}));
    EXPECT_EQ(infoWith("mpm.labels", "[\"a\", \"b\"]").labels, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(infoWith("mpm.mean", "[0.25, 0, -1]").mean, cv::Scalar(0.25, 0, -1));
    EXPECT_EQ(infoWith("mpm.std", "[0.25, 1, 2]").std, cv::Scalar(0.25, 1, 2));
    EXPECT_EQ(infoWith("mpm.source_sha256", "\"abc\"").sourceSha256, "abc");
}

TEST(ModelInfo, PassesOverWhatItDoesNotKnow) {
    for (const char* key : {"mpm.unknown", "mpm.", "author"})
        EXPECT_EQ(infoWith(key, "not JSON").size, cv::Size(16, 8)) << key;
}

TEST(ModelInfo, NamesWhatCannotBe) {
    for (const auto& [key, values] : std::vector<std::pair<std::string, std::vector<std::string>>>{
             {"mpm.size",
              {"[-48, 64]", "[48.5, 64]", "[0, 64]", "[48]", "[48, 64, 3]", "[3000000000, 2]", "[1e30, 2]",
               "\"48x64\"", "null", "48"}},
             {"mpm.palette",
              {"[[300, 0, 0]]", "[[-1, 0, 0]]", "[[1, 2, 2.5]]", "[[1, 2]]", "[1, 2, 3]",
               "{\"a\": [1, 2, 3]}", "7"}},
             {"mpm.schedule", {"[5, 2]", "[2, 2]", "[-3]", "[2.5]", "[true]", "\"2,5\"", "[1e12]", "3"}},
             {"mpm.mean", {"[0.1, 0.2]", "[0, 0, 0, 0]", "[true, 0, 0]", "0.5", "[1e999, 0, 0]"}},
             {"mpm.std", {"[0, 1, 1]", "[-1, 1, 1]", "[1, 1]", "[\"a\", 1, 1]"}},
             {"mpm.labels", {"[1]", "\"a\"", "junk", ""}},
             {"mpm.reuse",
              {"\"on\"", "\"off\"", "\"\"", "\"refresh=-1\"", "\"full=2\"", "\"speed=1\"", "refresh=60",
               "{\"refresh\": 60}", "[60]"}},
             {"mpm.source_sha256", {"abc", "7"}}}) {
        for (const std::string& value : values) {
            SCOPED_TRACE(value);
            expectRefusal([&] { infoWith(key, value); }, "metadata " + key);
        }
    }
}

TEST(ModelInfo, PassesOverLongMetadataOfOthers) {
    const std::string text(2 << 20, 'x');
    EXPECT_EQ(infoWith("author", text).size, cv::Size(16, 8));
    expectRefusal([&] { infoWith("mpm.labels", text); }, "is damaged");
}

TEST(ModelInfo, RejectsLaterVersionsOfTheDomain) {
    const TempFolder folder;
    const std::string path = folder / "model.onnx";
    for (int version : {1, 2, 3, 4, 1000}) {
        OnnxModel model;
        model.input("picture", {1, 3, 8, 16}).node("Relu", {"picture"}, {"out"}).output("out", {1, 3, 8, 16});
        model.domainVersion(version).write(path);
        if (version <= 3) {
            EXPECT_EQ(modelInfo(path).size, cv::Size(16, 8));
            EXPECT_NO_THROW(readNet(path));
        } else {
            const std::string reason = "has version " + std::to_string(version) + " of the domain mpm";
            expectRefusal([&] { modelInfo(path); }, reason);
            expectRefusal([&] { readNet(path); }, reason);
            EXPECT_EQ(mpm_read_net(path.c_str()), nullptr);
            EXPECT_NE(std::string(mpm_last_error()).find(reason), std::string::npos) << mpm_last_error();
        }
    }
}

TEST(BlobFromImage, NormalisesByWhatCanBe) {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    constexpr double kInf = std::numeric_limits<double>::infinity();
    const cv::Mat image(4, 4, CV_8UC3, cv::Scalar(0, 0, 255));
    ModelInfo good;
    good.size = cv::Size(4, 4);
    EXPECT_FLOAT_EQ(blobFromImage(image, good).ptr<float>()[0], 1.0f);
    for (double bad : {0.0, -0.5, kNaN, kInf}) {
        ModelInfo info = good;
        info.std[1] = bad;
        expectRefusal([&] { blobFromImage(image, info); }, "info.std");
    }
    for (double bad : {kNaN, kInf, -kInf}) {
        ModelInfo info = good;
        info.mean[2] = bad;
        expectRefusal([&] { blobFromImage(image, info); }, "info.mean");
    }
}

}  // namespace
}  // namespace mpm::test
