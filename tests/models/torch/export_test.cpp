#include "models/torch/export_onnx.hpp"

#include <filesystem>

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/models/torch/small_model.hpp"

using namespace mpm::models;

namespace {

struct Case {
    const char* name;
    const char* decoder;
    bool distilled;
    int64_t patch, height, width;
};

class ExportTest : public testing::TestWithParam<Case> {};

TEST_P(ExportTest, OpenCvComputesWhatLibTorchComputes) {
    const Case& c = GetParam();
    auto options = smallOptions(c.height, c.width, 11);
    options.decoder = c.decoder;
    options.vit.distilled = c.distilled;
    options.vit.patch = c.patch;
    auto model = smallModel(options, 7);
    const auto path = std::filesystem::temp_directory_path() /
                      ("mpm_export_" + std::string(c.name) + std::to_string(getpid()) + ".onnx");
    exportOnnx(model, mpm::pipeline::camvidClasses(), path.string());
    for (uint64_t seed : {1, 2, 3})
        EXPECT_LE(exportDifference(model, path.string(), seed), 1e-4);
    std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Segmenters, ExportTest,
                         testing::Values(Case{"mask", "mask", false, 16, 64, 96},
                                         Case{"mask_distilled", "mask", true, 16, 96, 64},
                                         Case{"mask_patch8", "mask", false, 8, 64, 48},
                                         Case{"linear", "linear", false, 16, 80, 64},
                                         Case{"linear_distilled", "linear", true, 16, 64, 96},
                                         Case{"linear_patch8", "linear", false, 8, 64, 80}),
                         [](const auto& one) { return one.param.name; });

TEST(Export, TheFusedFormOfAMaskTransformerComputesWhatLibTorchComputes) {
    auto options = smallOptions(96, 160, 11);
    options.vit.depth = 6;
    auto model = smallModel(options, 7);
    const auto path =
        std::filesystem::temp_directory_path() / ("mpm_fused" + std::to_string(getpid()) + ".onnx");
    EXPECT_NO_THROW(exportFused(model, mpm::pipeline::camvidClasses(), {2, 5}, path.string()));
    EXPECT_TRUE(std::filesystem::exists(path));
    std::filesystem::remove(path);
}

TEST(Export, RefusesAnotherNumberOfClasses) {
    auto model = smallModel(smallOptions(32, 32, 5), 1);
    EXPECT_ANY_THROW(exportOnnx(model, mpm::pipeline::camvidClasses(), "/nowhere/model.onnx"));
}

}  // namespace
