// Converts every export that make_exports.py wrote, unchanged and scrambled, runs it with OpenCV, and
// compares with PyTorch's results. MPM_EXPORTS_DIR is the folder of the exports.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/io/read.hpp"
#include "scramble.hpp"
#include "support/engine.hpp"
#include "support/npy.hpp"

namespace {

using namespace mpm;
namespace fs = std::filesystem;

std::string exportsFolder() {
    const char* given = std::getenv("MPM_EXPORTS_DIR");
    return given ? given : "";
}

std::vector<std::string> namesIn(const std::string& folder) {
    std::vector<std::string> names;
    if (!folder.empty() && fs::is_directory(folder)) {
        for (const auto& entry : fs::directory_iterator(folder)) {
            if (entry.path().extension() == ".onnx") names.push_back(entry.path().stem().string());
        }
    }
    std::sort(names.begin(), names.end());
    if (names.empty()) names.push_back("none");
    return names;
}

class Exports : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (GetParam() == "none")
            GTEST_SKIP() << "no exports: run tests/models/onnx/make_exports.py DIR and set MPM_EXPORTS_DIR";
        base = exportsFolder() + "/" + GetParam();
        folder = fs::temp_directory_path() / ("mpm_exports_" + GetParam());
        fs::create_directories(folder);
    }
    void TearDown() override { fs::remove_all(folder); }

    models::ConvertOptions options() const {
        models::ConvertOptions chosen;
        chosen.method = "mpm";
        std::ifstream size(base + ".size");
        if (size) size >> chosen.size.height >> chosen.size.width;
        std::string decoder;
        if (std::ifstream(base + ".decoder") >> decoder)
            chosen.decoder = decoder == "merged" ? models::Decoder::Merged : models::Decoder::Full;
        return chosen;
    }

    void check(const std::string& model) {
        const std::string converted = (folder / "converted.onnx").string();
        const models::Conversion conversion = models::convertModel(model, converted, options());
        cv::Size grid;
        if (std::ifstream(base + ".grid") >> grid.height >> grid.width) {
            EXPECT_EQ(conversion.grid, grid);
        }
        // In "rounded_gelu", the constants of GELU are in half precision. The converter must still recognise
        // GELU, so the error is larger.
        EXPECT_LT(conversion.error, GetParam() == "rounded_gelu" ? 1e-4 : 1e-5);
        std::vector<cv::String> names;  // in the model's order, which is not OpenCV's
        for (const models::Port& port : models::readModel(converted).outputs)
            names.push_back(port.name);
        registerLayers();
        cv::dnn::Net net = cv::dnn::readNetFromONNX(converted);
        for (const auto& [label, schedule] :
             std::vector<std::pair<std::string, std::vector<int>>>{{"none", {}}, {"2_5", {2, 5}}}) {
            encoder(net).setSchedule(schedule);
            net.setInput(test::readNpy(base + ".input.npy").mat());
            std::vector<cv::Mat> outputs;
            net.forward(outputs, names);
            for (size_t k = 0; k < outputs.size(); ++k)
                compare(outputs[k], base + ".s" + label + ".output" + std::to_string(k) + ".npy");
        }
        const Report report = encoder(net).report();
        for (size_t b = 0; b < report.images.size(); ++b) {
            const cv::Mat map = test::readNpy(base + ".s2_5.map" + std::to_string(b) + ".npy").mat();
            EXPECT_EQ(cv::norm(report.images[b].map.reshape(1, 1), map.reshape(1, 1), cv::NORM_INF), 0)
                << "map of image " << b;
        }
    }

    // Returns whether the encoder is a chain: several MpmEncoder nodes, with other nodes between them, that
    // share the merged tokens.
    bool isChain() const {
        const std::string path = (folder / "chain.onnx").string();
        models::convertModel(base + ".onnx", path, options());
        const models::Graph graph = models::readModel(path);
        return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                           [](const models::Node& node) { return node.has("chain"); });
    }

    // Checks only the first image, because the form `layers` takes a single image.
    void checkLayers() {
        const std::string path = (folder / "layers.onnx").string();
        models::ConvertOptions chosen = options();
        chosen.form = models::Form::Layers;
        models::convertModel(base + ".onnx", path, chosen);
        const cv::Mat input = test::readNpy(base + ".input.npy").mat();
        const int shape[] = {1, input.size[1], input.size[2], input.size[3]};
        std::vector<cv::String> names;
        for (const models::Port& port : models::readModel(path).outputs)
            names.push_back(port.name);
        registerLayers();
        cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
        net.setInput(cv::Mat(4, shape, CV_32F, input.data));
        std::vector<cv::Mat> outputs;
        net.forward(outputs, names);
        for (size_t k = 0; k < outputs.size(); ++k)
            compare(outputs[k], base + ".s2_5.output" + std::to_string(k) + ".npy", input.size[0]);
    }

    // `images` is the number of images in the reference. `found` may have only the first image.
    static void compare(const cv::Mat& found, const std::string& path, int images = 1) {
        const test::Npy file = test::readNpy(path);
        const cv::Mat all = file.mat().reshape(1, 1);
        const bool first = images > 1 && found.total() * images == all.total();
        const cv::Mat expected = first ? all.colRange(0, static_cast<int>(found.total())) : all;
        ASSERT_EQ(found.total(), expected.total()) << path;
        const double largest = cv::norm(expected, cv::NORM_INF);
        EXPECT_LT(cv::norm(found.reshape(1, 1), expected, cv::NORM_INF), 1e-4 * largest) << path;
    }

    std::string base;
    fs::path folder;
};

TEST_P(Exports, Convert) {
    std::ifstream refused(base + ".refused");
    if (!refused) return check(base + ".onnx");
    std::string word;
    std::getline(refused, word);
    try {
        models::convertModel(base + ".onnx", (folder / "converted.onnx").string(), {});
        FAIL() << "was converted";
    } catch (const models::Refusal& refusal) {
        EXPECT_NE(std::string(refusal.what()).find(word), std::string::npos) << refusal.what();
        EXPECT_EQ(std::string(refusal.what()).find('\n'), std::string::npos);
    }
    EXPECT_TRUE(fs::is_empty(folder));
}

// Exports of mpm-models have a file .promised: every version of OpenCV must run them without conversion.
TEST_P(Exports, OriginalWherePromised) {
    if (!fs::exists(base + ".promised")) GTEST_SKIP() << "nobody promises that OpenCV runs the original";
    cv::dnn::Net net = cv::dnn::readNetFromONNX(base + ".onnx");
    net.setInput(test::readNpy(base + ".input.npy").mat());
    compare(net.forward(), base + ".snone.output0.npy");
}

TEST_P(Exports, ConvertScrambled) {
    if (fs::exists(base + ".refused") || fs::exists(base + ".bin")) GTEST_SKIP() << "nothing to scramble";
    for (uint32_t seed : {1u, 2u}) {
        const std::string scrambled = (folder / "scrambled.onnx").string();
        test::scrambleModel(base + ".onnx", scrambled, seed);
        check(scrambled);
    }
}

TEST_P(Exports, LayersFormWhereShapesAreDynamic) {
    if (!test::hasDynamicShapes()) GTEST_SKIP() << "this engine has fixed shapes";
    if (fs::exists(base + ".refused")) GTEST_SKIP() << "not a model to convert";
    if (isChain() || options().decoder == models::Decoder::Merged)
        GTEST_SKIP() << "merging ends with the first segment in this form";
    // ONNX Runtime computes the reference's values from the file of UPerNet, so the file is right. ONNX
    // Runtime cannot run the file of Mask2Former.
    for (const char* name : {"upernet", "mask2former"})
        if (GetParam().rfind(name, 0) == 0) GTEST_SKIP() << "OpenCV 5.0.0 does not run the layers around it";
    try {
        checkLayers();
    } catch (const models::Refusal& refusal) {
        const bool known = std::string(refusal.what()).find("takes one image") != std::string::npos;
        if (!known) throw;
        GTEST_SKIP() << refusal.what();
    }
}

INSTANTIATE_TEST_SUITE_P(Made, Exports, testing::ValuesIn(namesIn(exportsFolder())),
                         [](const auto& model) { return model.param; });

}  // namespace
