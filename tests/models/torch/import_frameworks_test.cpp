// Imports weights from files of several frameworks, and compares with the results of a PyTorch model.
#include "models/torch/import/weights.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <gtest/gtest.h>

namespace fs = std::filesystem;
using namespace mpm::models;

namespace {

class SourceFrameworkTest : public testing::Test {
protected:
    static void SetUpTestSuite() {
        s_folder = fs::temp_directory_path() / ("mpm_weights_" + std::to_string(getpid()));
        fs::create_directories(s_folder);
        const std::string command =
            "/usr/bin/python3 " MPM_SOURCE_DIR "/tests/models/torch/make_weights.py " + s_folder.string();
        s_made = std::system("/usr/bin/python3 -c 'import torch, numpy' 2>/dev/null") == 0;
        if (s_made) {
            ASSERT_EQ(std::system(command.c_str()), 0);
        }
    }
    static void TearDownTestSuite() { fs::remove_all(s_folder); }
    void SetUp() override {
        if (!s_made) GTEST_SKIP() << "no python3 with torch and numpy";
    }

    static NamedTensors expected(const std::string& name) {
        return readTensors((s_folder / (name + ".expected.npz")).string());
    }
    static void expectTokens(const char* file, const char* name) {
        torch::NoGradGuard noGrad;
        auto imported = importWeights(readTensors((s_folder / file).string()), {});
        const auto there = expected(name);
        EXPECT_TRUE(torch::allclose(imported.model->encoder(there.at("image")), there.at("out"), 1e-4, 1e-4))
            << file;
    }

    static inline fs::path s_folder;
    static inline bool s_made = false;
};

TEST_F(SourceFrameworkTest, SegmenterWithItsVariant) {
    torch::NoGradGuard noGrad;
    ImportOptions options;
    options.variant = readVariant((s_folder / "segmenter/variant.yml").string());
    const auto tensors = readTensors((s_folder / "segmenter/checkpoint.pth").string());
    auto imported = importWeights(tensors, options);
    const auto there = expected("segmenter");
    EXPECT_EQ(imported.model->options().vit.heads, 4);
    EXPECT_EQ(imported.model->options().vit.width, 96);
    EXPECT_NEAR(imported.model->options().normalisation.mean[0], 0.485, 1e-9);
    EXPECT_TRUE(torch::allclose(imported.model->masks(there.at("image")), there.at("out"), 1e-4, 1e-4));
    EXPECT_EQ(imported.report.leftOver, std::vector<std::string>{"encoder.head.weight"});
    EXPECT_ANY_THROW(importWeights(tensors, {})) << "24 places are no square";
}

TEST_F(SourceFrameworkTest, SegmenterWithALinearHead) {
    torch::NoGradGuard noGrad;
    auto imported = importWeights(readTensors((s_folder / "linear.pth").string()), {});
    const auto there = expected("linear");
    EXPECT_TRUE(torch::allclose(imported.model->masks(there.at("image")), there.at("out"), 1e-4, 1e-4));
}

TEST_F(SourceFrameworkTest, DistilledBackbone) {
    expectTokens("deit.pth", "deit");
}

TEST_F(SourceFrameworkTest, SafetensorsBackbone) {
    expectTokens("vit.safetensors", "vit");
}

TEST_F(SourceFrameworkTest, JaxBackbone) {
    expectTokens("jax.npz", "jax");
}

std::string report(const std::string& arguments) {
    const auto file = fs::temp_directory_path() / ("mpm_report_" + std::to_string(getpid()));
    EXPECT_EQ(std::system((MPM_MODELS_PROGRAM " import " + arguments + " > " + file.string()).c_str()), 0);
    std::ifstream in(file);
    std::string text(std::istreambuf_iterator<char>(in), {});
    fs::remove(file);
    return text;
}

TEST_F(SourceFrameworkTest, TheProgramNamesEveryTensor) {
    const auto out = (s_folder / "model.pt").string();
    const auto whole = report((s_folder / "segmenter/checkpoint.pth").string() + " " + out);
    EXPECT_NE(whole.find("variant.yml"), std::string::npos)
        << "the file beside the checkpoint is read unasked";
    EXPECT_NE(whole.find("used      encoder.blocks.2.mlp.fc2.bias <- encoder.blocks.2.mlp.fc2.bias"),
              std::string::npos);
    EXPECT_NE(whole.find("left over encoder.head.weight"), std::string::npos);
    EXPECT_NE(whole.find(" used, 0 missing, 1 left over"), std::string::npos);
    const auto bare = report((s_folder / "deit.pth").string() + " " + out);
    EXPECT_NE(bare.find("missing   decoder.cls_emb"), std::string::npos);
    EXPECT_NE(bare.find("left over encoder.head_dist.bias"), std::string::npos);
}

}  // namespace
