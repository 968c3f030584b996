#include "models/torch/model/segmenter.hpp"

#include <set>

#include <gtest/gtest.h>
#include <opencv2/imgproc.hpp>

#include "tests/models/torch/small_model.hpp"

using namespace mpm::models;

namespace {

std::set<std::string> blockNames(const std::string& prefix) {
    std::set<std::string> names;
    for (const char* part : {"norm1", "attn.qkv", "attn.proj", "norm2", "mlp.fc1", "mlp.fc2"}) {
        for (const char* kind : {".weight", ".bias"})
            names.insert(prefix + part + kind);
    }
    return names;
}

TEST(Segmenter, ParametersHaveThePublishedNames) {
    std::set<std::string> expected{"encoder.cls_token", "encoder.dist_token", "encoder.pos_embed",
                                   "decoder.cls_emb",   "decoder.proj_patch", "decoder.proj_classes"};
    for (const char* part : {"encoder.patch_embed.proj", "encoder.norm", "decoder.proj_dec",
                             "decoder.decoder_norm", "decoder.mask_norm"}) {
        for (const char* kind : {".weight", ".bias"})
            expected.insert(std::string(part) + kind);
    }
    for (int i = 0; i < 12; ++i)
        expected.merge(blockNames("encoder.blocks." + std::to_string(i) + "."));
    for (int i = 0; i < 2; ++i)
        expected.merge(blockNames("decoder.blocks." + std::to_string(i) + "."));
    auto options = SegmenterOptions::variant("vit-tiny/16");
    options.vit.distilled = true;
    std::set<std::string> names;
    for (const auto& entry : Segmenter(options)->named_parameters())
        names.insert(entry.key());
    EXPECT_EQ(names, expected);
}

TEST(Segmenter, VariantsHaveTheirSizes) {
    const auto count = [](const char* name) {
        auto options = SegmenterOptions::variant(name);
        options.vit.depth = 1;  // a single block is enough to check sizes
        int64_t sum = 0;
        for (const auto& p : Segmenter(options)->encoder->blocks[0]->parameters())
            sum += p.numel();
        return sum;
    };
    for (const auto& [name, dim] :
         {std::pair{"vit-tiny/16", 192}, std::pair{"vit-small/8", 384}, std::pair{"vit-base/8", 768}}) {
        EXPECT_EQ(count(name), 12 * dim * dim + 13 * dim) << name;
    }
    EXPECT_EQ(SegmenterOptions::variant("vit-large/16").vit.depth, 24);
    EXPECT_EQ(SegmenterOptions::variant("vit-small/8").vit.patch, 8);
    EXPECT_ANY_THROW(SegmenterOptions::variant("vit-huge/16"));
    EXPECT_ANY_THROW(SegmenterOptions::variant("vit-tiny/14"));
}

TEST(Segmenter, OptionsSurviveJson) {
    auto options = smallOptions(48, 80, 5);
    options.decoder = "linear";
    options.vit.distilled = true;
    EXPECT_EQ(SegmenterOptions::fromJson(options.toJson()).toJson(), options.toJson());
}

TEST(Segmenter, LogitsHaveTheImagesSize) {
    for (const char* decoder : {"mask", "linear"}) {
        auto options = smallOptions(48, 80, 5);
        options.decoder = decoder;
        auto model = smallModel(options, 1);
        torch::NoGradGuard noGrad;
        EXPECT_EQ(model->forward(torch::randn({2, 3, 48, 80})).sizes(), (std::vector<int64_t>{2, 5, 48, 80}));
        EXPECT_EQ(model->masks(torch::randn({1, 3, 64, 32})).sizes(), (std::vector<int64_t>{1, 5, 4, 2}));
    }
}

TEST(Segmenter, MergingKeepsTheImagesOfABatchApart) {
    auto model = smallModel(smallOptions(64, 96, 4), 3);
    model->encoder->setReducer({"mpm", {1, 2}});
    torch::NoGradGuard noGrad;
    const auto images = torch::randn({3, 3, 64, 96});
    const auto together = model->masks(images);
    const auto traces = model->encoder->traces();
    ASSERT_EQ(traces.size(), 3u);
    for (int64_t b = 0; b < 3; ++b) {
        const auto alone = model->masks(images.narrow(0, b, 1));
        EXPECT_LT((alone - together.narrow(0, b, 1)).abs().max().item<double>(), 1e-5);
        EXPECT_TRUE(torch::equal(model->encoder->traces()[0].map, traces[static_cast<size_t>(b)].map));
        EXPECT_EQ(traces[static_cast<size_t>(b)].tokens[0], 24);
        EXPECT_LT(traces[static_cast<size_t>(b)].tokens[1], 24);
        EXPECT_LT(traces[static_cast<size_t>(b)].tokens[2], traces[static_cast<size_t>(b)].tokens[1]);
    }
}

TEST(Segmenter, TapsHoldWhatEntersABlockBeforeItMerges) {
    auto model = smallModel(smallOptions(64, 96, 4), 3);
    torch::NoGradGuard noGrad;
    const auto images = torch::randn({2, 3, 64, 96});
    TokenTaps whole{{1, 2}, {}}, merged{{1, 2}, {}};
    model->masks(images, &whole);
    model->encoder->setReducer({"mpm", {1, 2}});
    model->masks(images, &merged);
    ASSERT_EQ(whole.taps.size(), 4u);
    ASSERT_EQ(merged.taps.size(), 4u);
    const auto tapOf = [](const TokenTaps& taps, int64_t image, int turn) {
        for (const auto& tap : taps.taps)
            if (tap.image == image && turn-- == 0) return tap;
        return TokenTaps::Tap{};
    };
    for (int64_t b = 0; b < 2; ++b) {
        const auto before = tapOf(merged, b, 0), behind = tapOf(merged, b, 1);
        EXPECT_TRUE(torch::allclose(tapOf(whole, b, 0).tokens, before.tokens, 1e-5, 1e-5));
        EXPECT_TRUE(torch::equal(before.map, torch::arange(24)));
        EXPECT_TRUE(torch::equal(behind.map, mutualPairMap(before.tokens)));
        EXPECT_EQ(behind.tokens.size(0), model->encoder->traces()[static_cast<size_t>(b)].tokens[1]);
        EXPECT_FALSE(tapOf(whole, b, 1).map.defined());
    }
}

TEST(Segmenter, TokensOfOneClusterComeBackEqual) {
    auto model = smallModel(smallOptions(64, 96, 4), 4);
    model->encoder->setReducer({"mpm", {1}});
    torch::NoGradGuard noGrad;
    const auto tokens = model->encoder(torch::randn({1, 3, 64, 96}))[0];
    const auto map = model->encoder->traces()[0].map;
    for (int64_t i = 0; i < map.numel(); ++i) {
        for (int64_t j = 0; j < i; ++j) {
            if (map[i].item<int64_t>() != map[j].item<int64_t>()) continue;
            EXPECT_TRUE(torch::equal(tokens[i + 1], tokens[j + 1]));
        }
    }
}

TEST(Segmenter, MergingIsDifferentiable) {
    auto model = smallModel(smallOptions(32, 48, 4), 5);
    for (const ReducerSettings& reducer : {ReducerSettings{"mpm", {1}}, ReducerSettings{"tome", {}, 1},
                                           ReducerSettings{"algm", {}, 0, -1.0}}) {
        model->zero_grad();
        model->encoder->setReducer(reducer);
        model->masks(torch::randn({1, 3, 32, 48})).pow(2).sum().backward();
        EXPECT_GT(model->encoder->patchEmbed->proj->weight.grad().abs().max().item<double>(), 0)
            << reducer.method;
    }
}

TEST(Segmenter, StochasticDepthLeavesOutBranchesOfWholeImagesWhileTraining) {
    auto options = smallOptions(32, 32, 4);
    options.vit.dropPath = 0.999;
    VitBlock block(options.vit.dim, options.vit.heads, options.vit.dropPath);
    const auto x = torch::randn({6, 5, options.vit.dim});
    seedDropPath(1);
    torch::NoGradGuard noGrad;
    block->train();
    EXPECT_TRUE(torch::equal(block(x), x));  // drop path removes all but 1 in 1,000 branches
    block->eval();
    EXPECT_FALSE(torch::allclose(block(x), x));
    VitBlock half(options.vit.dim, options.vit.heads, 0.5);
    half->train();
    int64_t kept = 0;
    for (int i = 0; i < 400; ++i) {
        const auto out = half(x);
        for (int64_t b = 0; b < 6; ++b)
            kept += torch::equal(out[b], x[b]);
    }
    EXPECT_NEAR(static_cast<double>(kept) / 2400, 0.25, 0.04);  // 0.5 * 0.5: both branches are dropped
}

TEST(Segmenter, PatchEightHasFourTimesTheTokens) {
    auto options = smallOptions(48, 64, 4);
    options.vit.patch = 8;
    options.vit.distilled = true;
    auto model = smallModel(options, 2);
    torch::NoGradGuard noGrad;
    EXPECT_EQ(model->encoder(torch::randn({1, 3, 48, 64})).size(1), 48 + 2);
    EXPECT_EQ(model->masks(torch::randn({1, 3, 48, 64})).sizes(), (std::vector<int64_t>{1, 4, 6, 8}));
}

TEST(Segmenter, PositionsGoToAnotherGrid) {
    const auto positions = torch::randn({1, 1 + 6, 4});
    EXPECT_TRUE(torch::equal(resizePositions(positions, 1, 2, 3, 2, 3), positions));
    const auto larger = resizePositions(positions, 1, 2, 3, 4, 6);
    EXPECT_EQ(larger.size(1), 25);
    EXPECT_TRUE(torch::equal(larger[0][0], positions[0][0]));
    EXPECT_ANY_THROW(resizePositions(positions, 2, 2, 3, 4, 6));
}

TEST(Segmenter, PatchFiltersExpectTheModelsNormalisation) {
    cv::Mat image(8, 12, CV_8UC3);
    cv::RNG(1).fill(image, cv::RNG::UNIFORM, 128, 256);
    cv::resize(image, image, {96, 64}, 0, 0, cv::INTER_NEAREST);
    torch::NoGradGuard noGrad;
    for (const char* name : {"vit", "deit"}) {
        auto options = smallOptions(64, 96, 4);
        options.normalisation = Normalisation::named(name);
        auto model = smallModel(options, 1);
        initialisePatchFilters(model, {image}, 1);
        const auto& proj = model->encoder->patchEmbed->proj;
        const auto everywhere = torch::conv2d(toTensor(image, options.normalisation).unsqueeze(0),
                                              proj->weight, proj->bias);  // stride 1
        EXPECT_LT(everywhere.mean({0, 2, 3}).abs().max().item<double>(), 0.1) << name;
    }
}

}  // namespace
