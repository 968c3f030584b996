// Tests token sharing: compares the policy's labels with a plain loop, and maps and logits with a separate
// implementation in Python.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <mpm/mpm.hpp>
#include <mpm/read_net.hpp>
#include <mpm/sharing.hpp>
#include <opencv2/dnn.hpp>

#include "models/torch/data/batches.hpp"
#include "models/torch/export/onnx.hpp"
#include "models/torch/files/file_error.hpp"
#include "models/torch/import/weights.hpp"
#include "models/torch/train/checkpoint.hpp"
#include "models/torch/train/policy.hpp"
#include "models/torch/train/train.hpp"
#include "street/street.hpp"
#include "tests/models/torch/small_model.hpp"
#include "tests/support/temp_folder.hpp"

using namespace mpm::models;

namespace {

/// Computes the label of a superpatch by the published rule, pixel by pixel.
int64_t labelOf(const torch::Tensor& labels, int64_t image, int64_t row, int64_t column, int64_t ignored,
                bool ignoredBorder) {
    const int64_t rows = labels.size(1) / 32, columns = labels.size(2) / 32;
    std::set<int64_t> found;
    for (int64_t y = 32 * row; y < 32 * row + 32; ++y)
        for (int64_t x = 32 * column; x < 32 * column + 32; ++x)
            found.insert(labels.data_ptr<int64_t>()[(image * labels.size(1) + y) * labels.size(2) + x]);
    if (found.size() == 1) return 1;
    const bool outer = row == 0 || column == 0 || row == rows - 1 || column == columns - 1;
    const bool oneAndIgnored = found.size() == 2 && found.count(ignored) != 0;
    return ignoredBorder && outer && oneAndIgnored ? 255 : 0;
}

/// Returns label images with rectangles of few labels, so that all cases of the rule occur.
torch::Tensor someLabels(int64_t rows, int64_t columns, uint64_t seed) {
    mpm::Random random(seed);
    auto labels = torch::full({2, 32 * rows, 32 * columns}, 1, torch::kInt64);
    for (int k = 0; k < 24; ++k) {
        const int64_t y = random.below(static_cast<int>(32 * rows)),
                      x = random.below(static_cast<int>(32 * columns));
        const int64_t value = random.chance(0.5) ? 11 : random.below(3);
        labels[random.below(2)]
            .slice(0, y, y + random.below(70))
            .slice(1, x, x + random.below(70))
            .fill_(value);
    }
    return labels;
}

TEST(PolicyLabels, FollowThePublishedRule) {
    for (const bool border : {false, true}) {
        std::map<int64_t, int> counts;
        for (uint64_t seed = 1; seed <= 6; ++seed) {
            const int64_t rows = seed == 1 ? 1 : seed == 2 ? 2 : 5, columns = seed == 3 ? 1 : 6;
            const auto labels = someLabels(rows, columns, seed);
            const auto found = policyLabels(labels, 11, border);
            ASSERT_EQ(found.sizes(), (std::vector<int64_t>{2, rows, columns}));
            for (int64_t i = 0; i < found.numel(); ++i) {
                const int64_t image = i / (rows * columns), row = i / columns % rows, column = i % columns;
                const int64_t label = found[image][row][column].item<int64_t>();
                EXPECT_EQ(label, labelOf(labels, image, row, column, 11, border)) << seed << ' ' << i;
                ++counts[label];
            }
        }
        EXPECT_EQ(counts.size(), border ? 3U : 2U);
    }
}

TEST(PolicyLabels, IgnoredPixelsAreALabelOfTheirOwn) {
    auto labels = torch::full({1, 96, 96}, 11, torch::kInt64);
    EXPECT_TRUE((policyLabels(labels, 11, true) == 1).all().item<bool>());
    labels[0][40][40] = 2;  // in the middle
    labels[0][3][3] = 2;    // in a corner
    EXPECT_EQ(policyLabels(labels, 11, true)[0][1][1].item<int64_t>(), 0);
    EXPECT_EQ(policyLabels(labels, 11, true)[0][0][0].item<int64_t>(), kNoPolicyLabel);
    EXPECT_EQ(policyLabels(labels, 11, false)[0][0][0].item<int64_t>(), 0);
    labels[0][5][3] = 3;
    EXPECT_EQ(policyLabels(labels, 11, true)[0][0][0].item<int64_t>(), 0);
    EXPECT_ANY_THROW(policyLabels(torch::zeros({1, 64, 48}, torch::kInt64), 11));
}

TEST(Policy, HasItsSizeAndComesBackFromItsFile) {
    torch::manual_seed(3);
    PolicyNet policy;
    EXPECT_LE(policy->multiplyAdds(480, 640), 0.3e9);
    policy->train();
    policy(torch::randn({2, 3, 64, 96}));  // changes the running statistics
    policy->eval();
    const mpm::test::TempFolder folder;
    const std::string path = folder.path() + "/policy.pt";
    savePolicy(path, policy);
    const auto image = torch::randn({1, 3, 64, 96});
    auto loaded = loadPolicy(path);
    EXPECT_TRUE(torch::equal(loaded(image), policy(image)));
    EXPECT_EQ(policy(image).sizes(), (std::vector<int64_t>{1, 2, 2, 3}));
    EXPECT_ANY_THROW(policy(torch::zeros({1, 3, 64, 80})));
    auto model = smallModel(smallOptions(64, 96, 11), 1);
    saveModel(folder.path() + "/model.pt", model);
    EXPECT_THROW(loadPolicy(folder.path() + "/model.pt"), FileError);
    EXPECT_THROW(loadModel(path), FileError);
}

std::vector<mpm::pipeline::Sample> streets(int count) {
    std::vector<mpm::pipeline::Sample> samples;
    for (int i = 0; i < count; ++i) {
        const auto frame = mpm::street::Street({160, 128}, 50 + static_cast<uint64_t>(i), 1).at(12, 3);
        samples.push_back({frame.image, frame.labels, "street" + std::to_string(i)});
    }
    return samples;
}

PolicyTrainOptions policyOptions(const std::string& out) {
    PolicyTrainOptions o;
    o.data.batch = 3;
    o.data.labelStride = 1;
    o.data.augment.height = 128;
    o.data.augment.width = 160;
    o.data.augment.scaleLow = o.data.augment.scaleHigh = 1;
    o.data.augment.night = o.data.augment.colour = 0;
    o.data.augment.geometry = false;
    o.out = out;
    o.height = 128;
    o.width = 160;
    o.shared = 6;
    o.warmUp = 5;
    o.steps = 60;
    o.validateEvery = 30;
    o.rate = 3e-3;
    o.meanDecay = 0.9;
    o.quiet = true;
    return o;
}

TEST(Policy, LearnsAFewStreets) {
    const mpm::test::TempFolder folder;
    const auto samples = streets(3);
    const auto options = policyOptions(folder.path() + "/policy.pt");
    torch::manual_seed(1);
    PolicyNet untrained;
    const auto before = scorePolicy(untrained, samples, 255, options);
    const auto after = trainPolicy(options, samples, samples, 255);
    EXPECT_GT(after.accuracy, 0.85);
    EXPECT_GT(after.recall, before.recall);
    auto saved = loadPolicy(options.out);
    EXPECT_EQ(scorePolicy(saved, samples, 255, options).recall, after.recall);
    auto again = options;
    again.from = options.out;
    again.steps = 0;
    EXPECT_EQ(trainPolicy(again, samples, samples, 255).recall, after.recall);
}

TEST(Sharing, HighestScoresAndTheTokensOfAGrid) {
    const auto nan = std::numeric_limits<float>::quiet_NaN();
    const auto scores = torch::tensor({{1.F, 3.F, 3.F, nan, 3.F, 2.F}, {0.F, 0.F, 0.F, 0.F, 0.F, 0.F}});
    EXPECT_TRUE(torch::equal(highestScores(scores, 2), torch::tensor({{1, 2}, {0, 1}}, torch::kInt64)));
    EXPECT_TRUE(torch::equal(highestScores(scores, 5)[0], torch::tensor({0, 1, 2, 4, 5}, torch::kInt64)));
    const auto tokens = shareTokens(torch::tensor({{1}}, torch::kInt64), 2, 4);
    EXPECT_TRUE(torch::equal(tokens.map, torch::tensor({{0, 1, 2, 2, 3, 4, 2, 2}}, torch::kInt64)));
    EXPECT_TRUE(torch::equal(tokens.rows, torch::tensor({{0, 1, 9, 4, 5}}, torch::kInt64)));
    EXPECT_ANY_THROW(shareTokens(torch::zeros({1, 0}, torch::kInt64), 3, 4));
}

std::shared_ptr<Sharing> sharingOf(const std::string& policy, int64_t shared) {
    return std::make_shared<Sharing>(Sharing{loadPolicy(policy), shared});
}

TEST(Sharing, PoliciesOfAnotherNormalisationAreRejected) {
    const mpm::test::TempFolder folder;
    const auto deit = Normalisation::named("deit");
    const std::string file = folder.path() + "/policy.pt";
    savePolicy(file, PolicyNet(deit));
    auto options = smallOptions(64, 96, 11);
    EXPECT_THROW(smallModel(options, 1)->setSharing(sharingOf(file, 1)), c10::Error);
    options.normalisation = deit;
    EXPECT_NO_THROW(smallModel(options, 1)->setSharing(sharingOf(file, 1)));
    auto training = policyOptions(folder.path() + "/next.pt");
    training.from = file;
    training.steps = 1;
    const auto samples = streets(1);
    EXPECT_THROW(trainPolicy(training, samples, samples, 255), c10::Error);
    training.data.normalisation = deit;
    EXPECT_NO_THROW(trainPolicy(training, samples, samples, 255));
}

TEST(Sharing, TrainsTheWeightsAndNotTheChoice) {
    const mpm::test::TempFolder folder;
    torch::manual_seed(5);
    PolicyNet policy;
    policy->eval();
    savePolicy(folder.path() + "/policy.pt", policy);
    TrainOptions o;
    o.model = smallOptions(128, 160, 11);
    o.data.batch = 1;
    o.data.augment.height = 64;
    o.data.augment.width = 96;
    o.policy = folder.path() + "/policy.pt";
    o.shared = 9;
    o.steps = 3;
    o.out = folder.path() + "/run";
    o.mixed = false;
    o.parts = o.workers = 1;
    o.quiet = true;
    const auto samples = streets(2);
    const auto rows = train(o, {samples, samples, 255});
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_TRUE(std::isfinite(rows.back().miou));
    auto model = loadModel(o.out + "/best.pt");
    auto sharing = sharingOf(o.policy, 9);
    model->setSharing(sharing);
    model->train();
    model->masks(torch::randn({2, 3, 128, 160})).pow(2).sum().backward();
    EXPECT_GT(model->encoder->patchEmbed->proj->weight.grad().abs().sum().item<float>(), 0);
    for (const auto& weight : sharing->policy->parameters())
        EXPECT_FALSE(weight.grad().defined());
    o.shared = 21;  // the image has only 20 superpatches
    EXPECT_ANY_THROW(train(o, {samples, {}, 255}));
    o.shared = 9;
    o.reducer.schedule = {1};
    EXPECT_ANY_THROW(train(o, {samples, {}, 255}));
}

/// Compares with files that make_sharing.py writes.
class SharingReference : public testing::Test {
protected:
    void SetUp() override {
        if (std::system("/usr/bin/python3 -c 'import torch, numpy' 2>/dev/null") != 0)
            GTEST_SKIP() << "no python3 with torch and numpy";
        const std::string command =
            "/usr/bin/python3 -B " MPM_SOURCE_DIR "/tests/models/torch/make_sharing.py " + folder();
        ASSERT_EQ(std::system(command.c_str()), 0);
        m_expected = readTensors(folder() + "/expected.npz");
        ImportOptions options;
        options.height = 128;
        options.width = 192;
        options.sourceGridHeight = 8;
        m_model = importWeights(readTensors(folder() + "/checkpoint.pth"), options).model;
    }
    std::string folder() const { return m_folder.path(); }
    std::string policy(const char* name) const { return folder() + "/" + name + ".pt"; }
    torch::Tensor expected(const char* name, int64_t shared, const char* what) const {
        return m_expected.at(std::string(name) + "_" + std::to_string(shared) + "_" + what);
    }
    mpm::pipeline::Classes classes() const {
        mpm::pipeline::Classes seven;
        for (int id = 0; id < 7; ++id) {
            seven.names.push_back(std::to_string(id));
            seven.palette.emplace_back(id, 0, 0);
        }
        return seven;
    }

    const mpm::test::TempFolder m_folder;
    NamedTensors m_expected;
    Segmenter m_model{nullptr};
};

constexpr int64_t kShared[] = {0, 1, 7, 23, 24};

TEST_F(SharingReference, LibTorchSharesTheSame) {
    torch::NoGradGuard noGrad;
    for (const char* name : {"policy", "equal"}) {
        for (const int64_t shared : kShared) {
            m_model->setSharing(sharingOf(policy(name), shared));
            const auto logits = m_model->forward(m_expected.at("images"));
            EXPECT_LE((logits - expected(name, shared, "logits")).abs().max().item<float>(), 1e-4)
                << name << shared;
            if (shared == 0) continue;
            EXPECT_TRUE(torch::equal(m_model->sharedMap(), expected(name, shared, "map"))) << name << shared;
        }
    }
}

void expectFileShares(const std::string& path, const torch::Tensor& images, const torch::Tensor& map,
                      const torch::Tensor& logits, int shared) {
    cv::dnn::Net net = mpm::readNet(path);
    auto sharing = mpm::sharing(net);
    ASSERT_TRUE(sharing);
    EXPECT_EQ(sharing->shared(), 7);
    sharing->setShared(shared);
    const int shape[] = {2, 3, 128, 192};
    net.setInput(cv::Mat(4, shape, CV_32F, images.data_ptr()));
    const cv::Mat out = net.forward();
    const auto wanted = logits.contiguous();
    ASSERT_EQ(out.total(), static_cast<size_t>(wanted.numel()));
    EXPECT_LE((torch::from_blob(out.data, wanted.sizes()) - wanted).abs().max().item<float>(), 1e-4)
        << shared;
    const mpm::Report report = mpm::encoder(net).report();
    for (size_t image = 0; image < 2; ++image) {
        EXPECT_EQ(report.images.at(image).tokens.at(0), 96 - 3 * shared);
        for (int patch = 0; patch < 96; ++patch)
            ASSERT_EQ(report.images[image].map.at<int>(patch),
                      map[static_cast<int64_t>(image)][patch].item<int64_t>())
                << shared << ' ' << patch;
    }
}

TEST_F(SharingReference, TheFileSharesTheSameInABatch) {
    const auto images = m_expected.at("images").contiguous();
    for (const char* name : {"policy", "equal"}) {
        const std::string path = folder() + "/" + name + ".onnx";
        EXPECT_LE(exportSharing(m_model, sharingOf(policy(name), 7), classes(), path, 2), 1e-4);
        for (const int64_t shared : kShared)
            expectFileShares(path, images, expected(name, shared, "map"), expected(name, shared, "logits"),
                             static_cast<int>(shared));
    }
}

TEST_F(SharingReference, GivenScoresReplaceThePolicy) {
    const std::string path = folder() + "/shared.onnx";
    exportSharing(m_model, sharingOf(policy("policy"), 7), classes(), path, 2);
    cv::dnn::Net net = mpm::readNet(path);
    auto sharing = mpm::sharing(net);
    EXPECT_EQ(sharing->grid(), cv::Size(6, 4));
    cv::Mat scores(4, 6, CV_32F, cv::Scalar(0));
    scores.at<float>(1, 2) = 1;
    sharing->setScores({scores});
    sharing->setShared(1);
    const int shape[] = {2, 3, 128, 192};
    const auto images = m_expected.at("images").contiguous();
    net.setInput(cv::Mat(4, shape, CV_32F, images.data_ptr()));
    net.forward();
    const cv::Mat map = mpm::encoder(net).report().images[1].map;
    EXPECT_EQ(map.at<int>(2 * 12 + 4), map.at<int>(3 * 12 + 5));
    EXPECT_NE(map.at<int>(0), map.at<int>(1));
    EXPECT_THROW(sharing->setShared(25), cv::Exception);
    EXPECT_THROW(sharing->setShared(-1), cv::Exception);
    EXPECT_THROW(sharing->setScores({cv::Mat(6, 4, CV_32F)}), cv::Exception);
    EXPECT_THROW(sharing->setScores({cv::Mat(4, 6, CV_64F)}), cv::Exception);
    sharing->setScores({scores, scores, scores});
    EXPECT_THROW(net.forward(), cv::Exception);
}

Imported readBack(const std::string& path) {
    const auto exported = readExported(path);
    ImportOptions options;
    options.height = options.variant.height = exported.height;
    options.width = options.variant.width = exported.width;
    options.variant.heads = exported.heads;
    options.normalisation = exported.normalisation;
    return importWeights(exported.tensors, options);
}

// The importer reads weights from exported files, with token sharing and with both kinds of decoders.
TEST_F(SharingReference, WeightsComeBackFromTheFile) {
    torch::NoGradGuard noGrad;
    const std::string path = folder() + "/again.onnx";
    exportSharing(m_model, sharingOf(policy("policy"), 7), classes(), path);
    const auto image = m_expected.at("images").narrow(0, 0, 1);
    auto imported = readBack(path);
    EXPECT_TRUE(imported.report.missing.empty() && imported.report.leftOver.empty());
    EXPECT_TRUE(torch::allclose(imported.model->forward(image), m_model->forward(image), 1e-5, 1e-5));

    auto options = smallOptions(64, 96, 7);
    options.vit.dim = 128;
    options.vit.distilled = true;
    options.decoder = "linear";
    options.normalisation = Normalisation::named("deit");
    auto linear = smallModel(options, 4);
    exportFused(linear, classes(), {1}, path);
    const auto other = torch::randn({1, 3, 64, 96});
    auto again = readBack(path).model;
    EXPECT_EQ(again->options().toJson(), linear->options().toJson());
    EXPECT_TRUE(torch::allclose(again->forward(other), linear->forward(other), 1e-5, 1e-5));
    exportStandard(linear, classes(), path);
    EXPECT_THROW(readExported(path), FileError);
}

}  // namespace
