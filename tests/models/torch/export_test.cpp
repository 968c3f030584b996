#include "models/torch/export/onnx.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include <unistd.h>

#include <gtest/gtest.h>
#include <mpm/mpm.hpp>
#include <opencv2/dnn.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/torch/files/file_error.hpp"
#include "tests/models/torch/small_model.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/temp_folder.hpp"

using namespace mpm::models;

namespace {

struct Case {
    const char* name;
    const char* decoder;
    bool distilled;
    int64_t patch, height, width;
};

Segmenter modelOf(const Case& c, int64_t depth) {
    auto options = smallOptions(c.height, c.width, 11);
    options.decoder = c.decoder;
    options.vit.distilled = c.distilled;
    options.vit.patch = c.patch;
    options.vit.depth = depth;
    return smallModel(options, 7);
}

cv::Mat blobOf(const torch::Tensor& tensor) {
    std::vector<int> shape(tensor.sizes().begin(), tensor.sizes().end());
    return cv::Mat(shape, CV_32F, tensor.data_ptr()).clone();
}

void expectSameMap(const mpm::ImageReport& there, const MergeTrace& here, const char* name) {
    const auto map = here.map.to(torch::kInt32).contiguous();
    const cv::Mat expected(1, static_cast<int>(map.numel()), CV_32S, map.data_ptr());
    EXPECT_EQ(cv::norm(there.map, expected, cv::NORM_INF), 0) << name;
}

class ExportTest : public testing::TestWithParam<Case> {};

TEST_P(ExportTest, OpenCvComputesWhatLibTorchComputes) {
    const Case& c = GetParam();
    auto model = modelOf(c, 3);
    const auto path = std::filesystem::temp_directory_path() /
                      ("mpm_export_" + std::string(c.name) + std::to_string(getpid()) + ".onnx");
    EXPECT_LE(exportStandard(model, mpm::pipeline::camvidClasses(), path.string()), 1e-4);
    for (uint64_t seed : {1, 2, 3})
        EXPECT_LE(exportDifference(model, path.string(), seed), 1e-4);
    std::filesystem::remove(path);
}

// The standard form has norms without weights, which graph optimisers also write. The converter must accept
// such norms.
TEST_P(ExportTest, ConverterTakesTheStandardForm) {
    const Case& c = GetParam();
    auto model = modelOf(c, 6);
    const mpm::test::TempFolder folder;
    exportStandard(model, mpm::pipeline::camvidClasses(), folder.path() + "/standard.onnx");
    const auto converted = folder.path() + "/fused.onnx";
    ConvertOptions options;
    options.blocks = std::vector<int>{2, 5};
    EXPECT_LT(convertModel(folder.path() + "/standard.onnx", converted, options).error, 1e-5);
    cv::dnn::Net net = cv::dnn::readNetFromONNX(converted);
    torch::NoGradGuard noGrad;
    const auto image = torch::randn({1, 3, c.height, c.width});
    model->encoder->setReducer({"mpm", {2, 5}});
    const auto expected = model->forward(image).contiguous();
    net.setInput(blobOf(image));
    EXPECT_LE(cv::norm(net.forward(), blobOf(expected), cv::NORM_INF), 1e-4);
    expectSameMap(mpm::encoder(net).report().images.at(0), model->encoder->traces().at(0), c.name);
}

mpm::test::Npy npyOf(const torch::Tensor& tensor) {
    mpm::test::Npy array;
    array.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
    const auto flat = tensor.contiguous();
    if (flat.dtype() == torch::kInt64)
        array.integers.assign(flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel());
    else
        array.floats.assign(flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
    return array;
}

// Writes the export and LibTorch's results. With them, exports_test.cpp checks other versions of OpenCV.
TEST_P(ExportTest, LeavesItsCaseForOtherVersions) {
    const mpm::test::TempFolder own;
    const char* asked = std::getenv("MPM_WRITE_EXPORTS");  // a folder for tests/models/onnx/exports_test.cpp
    const Case& c = GetParam();
    auto model = modelOf(c, 6);
    const std::string base = (asked ? asked : own.path()) + "/libtorch_" + c.name;
    exportStandard(model, mpm::pipeline::camvidClasses(), base + ".onnx");
    std::ofstream(base + ".promised");
    torch::NoGradGuard noGrad;
    const auto image = torch::randn({1, 3, c.height, c.width});
    mpm::test::writeNpy(base + ".input.npy", npyOf(image));
    mpm::test::writeNpy(base + ".snone.output0.npy", npyOf(model->forward(image)));
    model->encoder->setReducer({"mpm", {2, 5}});
    mpm::test::writeNpy(base + ".s2_5.output0.npy", npyOf(model->forward(image)));
    const auto map = npyOf(model->encoder->traces().at(0).map);
    mpm::test::writeNpy(base + ".s2_5.map0.npy", map);
    EXPECT_EQ(mpm::test::readNpy(base + ".s2_5.map0.npy").integers, map.integers);
    EXPECT_EQ(cv::norm(mpm::test::readNpy(base + ".input.npy").mat(), blobOf(image), cv::NORM_INF), 0);
}

const auto kCases = testing::Values(
    Case{"mask", "mask", false, 16, 64, 96}, Case{"mask_distilled", "mask", true, 16, 96, 64},
    Case{"mask_patch8", "mask", false, 8, 64, 48}, Case{"linear", "linear", false, 16, 80, 64},
    Case{"linear_distilled", "linear", true, 16, 64, 96}, Case{"linear_patch8", "linear", false, 8, 64, 80});

INSTANTIATE_TEST_SUITE_P(Segmenters, ExportTest, kCases, [](const auto& one) { return one.param.name; });

/// A reducer in the exported file, and the reducer in LibTorch that must leave the same tokens.
struct Peer {
    const char* inFile;
    ReducerSettings here;
};

std::vector<Peer> peers() {
    std::vector<Peer> all(4);
    all[0] = {"tome:r=3", {"tome", {}, 3}};
    all[1] = {"tome:r=1", {"tome", {}, 1}};
    all[2] = {"algm:tau=.3", {"algm", {}, 0, 0.3}};
    all[3] = {"algm:tau=.95", {"algm", {}, 0, 0.95}};
    return all;
}

class FusedExportTest : public ExportTest {};

TEST_P(FusedExportTest, EveryReducerDoesWhatLibTorchDoes) {
    const Case& c = GetParam();
    auto model = modelOf(c, 6);
    const auto path = std::filesystem::temp_directory_path() /
                      ("mpm_fused_" + std::string(c.name) + std::to_string(getpid()) + ".onnx");
    EXPECT_LE(exportFused(model, mpm::pipeline::camvidClasses(), {2, 5}, path.string()), 1e-4);
    cv::dnn::Net net = cv::dnn::readNetFromONNX(path.string());
    auto encoder = mpm::encoder(net);
    torch::NoGradGuard noGrad;
    const auto image = torch::randn({1, 3, c.height, c.width});
    for (const Peer& peer : peers()) {
        encoder.setMethod(peer.inFile);
        model->encoder->setReducer(peer.here);
        const auto expected = model->forward(image).contiguous();
        net.setInput(blobOf(image));
        const cv::Mat logits = net.forward();
        EXPECT_LE(cv::norm(logits, blobOf(expected), cv::NORM_INF), 1e-4) << peer.inFile;
        expectSameMap(encoder.report().images.at(0), model->encoder->traces().at(0), peer.inFile);
        EXPECT_LT(model->encoder->traces()[0].tokens.back(), c.height * c.width / c.patch / c.patch)
            << peer.inFile;
    }
    std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Segmenters, FusedExportTest, kCases, [](const auto& one) { return one.param.name; });

TEST(Export, LeavesNoFileOfAModelThatIsWrong) {
    auto model = smallModel(smallOptions(32, 48, 11), 3);
    torch::NoGradGuard noGrad;
    model->encoder->blocks[1]->as<VitBlockImpl>()->norm1->weight.fill_(
        std::numeric_limits<float>::quiet_NaN());
    const auto folder = std::filesystem::temp_directory_path() / ("mpm_refused" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    EXPECT_ANY_THROW(exportStandard(model, mpm::pipeline::camvidClasses(), (folder / "a.onnx").string()));
    EXPECT_ANY_THROW(exportFused(model, mpm::pipeline::camvidClasses(), {1}, (folder / "b.onnx").string()));
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    std::filesystem::remove_all(folder);
}

// Appends 100,000 empty nodes of two bytes each to a model file.
TEST(Export, AModelThatNeedsTooMuchMemoryIsAFileThatCannotBeRead) {
    const mpm::test::TempFolder folder;
    const std::string path = folder.path() + "/bomb.onnx";
    auto model = smallModel(smallOptions(32, 48, 11), 3);
    exportFused(model, mpm::pipeline::camvidClasses(), {1}, path);
    std::ofstream file(path, std::ios::binary | std::ios::app);
    file << "\x3a\xc0\x9a\x0c";
    for (int k = 0; k < 100000; ++k)
        file.write("\x0a\x00", 2);
    file.close();
    const Job job({16 << 20, 1e6});
    try {
        readExported(path);
        FAIL() << "was read";
    } catch (const FileError& error) {
        EXPECT_EQ(error.err.rfind(path + ": ", 0), 0u) << error.err;
        EXPECT_NE(error.err.find("more memory than allowed (16777216 bytes)"), std::string::npos)
            << error.err;
        EXPECT_EQ(error.err.find("--max"), std::string::npos) << error.err;
    }
}

TEST(Export, RefusesAnotherNumberOfClasses) {
    auto model = smallModel(smallOptions(32, 32, 5), 1);
    EXPECT_ANY_THROW(exportOnnx(model, mpm::pipeline::camvidClasses(), "/nowhere/model.onnx"));
}

}  // namespace
