#include "models/torch/train/train.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "models/torch/model/segmenter.hpp"
#include "models/torch/train/checkpoint.hpp"
#include "models/torch/train/evaluate.hpp"
#include "models/torch/train/policy.hpp"
#include "street/street.hpp"
#include "tests/models/torch/small_model.hpp"

namespace fs = std::filesystem;
using namespace mpm::models;

namespace {

std::vector<mpm::pipeline::Sample> streetSamples(int count, cv::Size size) {
    std::vector<mpm::pipeline::Sample> samples;
    for (int i = 0; i < count; ++i) {
        const auto frame = mpm::street::Street(size, 100 + static_cast<uint64_t>(i), 1).at(12, 3);
        samples.push_back({frame.image, frame.labels, "street" + std::to_string(i)});
    }
    return samples;
}

class TrainTest : public testing::Test {
protected:
    void SetUp() override {
        const auto* info = testing::UnitTest::GetInstance()->current_test_info();
        m_folder =
            fs::temp_directory_path() / ("mpm_train_" + std::string(info->name()) + std::to_string(getpid()));
        fs::remove_all(m_folder);
    }
    void TearDown() override { fs::remove_all(m_folder); }

    TrainOptions options(const char* out) const {
        TrainOptions o;
        o.model = smallOptions(64, 96, 11);
        o.model.vit.dropPath = 0.1;
        o.data.batch = 2;
        o.data.augment.height = 64;
        o.data.augment.width = 96;
        o.out = (m_folder / out).string();
        o.warmUp = 2;
        o.checkpointEvery = 4;
        o.validateEvery = 1000;
        o.quiet = true;
        return o;
    }

    fs::path m_folder;
};

TEST_F(TrainTest, LearnsATinySetByHeart) {
    auto o = options("tiny");
    o.model.vit.dropPath = 0;
    o.model.vit.patch = 8;
    o.data.augment.scaleLow = o.data.augment.scaleHigh = 1;
    o.data.augment.night = o.data.augment.colour = 0;
    o.data.augment.geometry = false;
    o.data.labelStride = 8;
    o.data.batch = 1;
    o.steps = 300;
    o.warmUp = 20;
    o.optimiser.rate = 2e-3;
    o.optimiser.decay = 0;
    o.classPower = 0;
    o.overlap = 0;
    o.meanDecay = 0.9;
    auto samples = streetSamples(2, {96, 64});
    for (auto& sample : samples) {  // masks have one value per patch, so labels must not be finer
        cv::resize(sample.labels, sample.labels, {}, 0.125, 0.125, cv::INTER_NEAREST);
        cv::resize(sample.labels, sample.labels, {}, 8, 8, cv::INTER_NEAREST);
    }
    const auto rows = train(o, {samples, samples, 11});
    EXPECT_LT(rows.back().loss, 0.1 * rows.front().loss);
    EXPECT_GT(rows.back().miou, 0.8);
}

TEST(TimePlan, HoldsTheLastValidationToo) {
    TimePlan plan(600);
    EXPECT_TRUE(plan.limited());
    plan.expectValidation(100);
    EXPECT_DOUBLE_EQ(plan.way(250), 0.5);
    EXPECT_DOUBLE_EQ(plan.way(500), 1) << "what is left is for the validation";
    plan.validated(200);
    plan.expectValidation(100);
    EXPECT_DOUBLE_EQ(plan.way(400), 1) << "a measured one counts more than a guess";
    plan.validated(1'000);
    EXPECT_DOUBLE_EQ(plan.way(300), 1) << "half of the run is for steps";
    EXPECT_DOUBLE_EQ(plan.left(590), 10);
    EXPECT_DOUBLE_EQ(plan.left(601), 0);
    EXPECT_FALSE(TimePlan(0).limited());
}

TEST(TimePlan, NothingIsLeftRatherThanLess) {
    EXPECT_EQ(clockText(-1), "0:00:00");
    EXPECT_EQ(clockText(59.9), "0:00:59");
    EXPECT_EQ(clockText(3723), "1:02:03");
}

template <class Options>
void expectStepLimits() {
    Options o;
    EXPECT_EQ(o.mostSteps(), Options::kUsualSteps);
    o.minutes = 480;
    EXPECT_EQ(o.mostSteps(), kNoLimit) << "minutes instead of steps";
    o.steps = 8000;
    EXPECT_EQ(o.mostSteps(), 8000) << "both";
    o.minutes = 0;
    EXPECT_EQ(o.mostSteps(), 8000);
}

TEST(TimePlan, MinutesAloneLimitNoSteps) {
    expectStepLimits<TrainOptions>();
    expectStepLimits<PolicyTrainOptions>();
}

TEST(TeacherLoss, IsTheMeanDivergenceOverPlaces) {
    torch::manual_seed(3);
    const auto student = torch::randn({2, 5, 3, 4}), teacher = torch::randn({2, 5, 3, 4});
    const auto p = teacher.softmax(1), q = student.softmax(1);
    const double wanted = (p * (p / q).log()).sum(1).mean().item<double>();
    EXPECT_NEAR(teacherLoss(student, teacher).item<double>(), wanted, 1e-5);
    EXPECT_NEAR(teacherLoss(teacher, teacher).item<double>(), 0, 1e-6);
    // If a teacher's values are the same everywhere, the size of the teacher's patches has no effect.
    const auto even = torch::randn({2, 5, 1, 1});
    EXPECT_NEAR(teacherLoss(student, even.expand({2, 5, 6, 8})).item<double>(),
                teacherLoss(student, even.expand({2, 5, 3, 4})).item<double>(), 1e-5);
}

TEST(NeighbourLoss, IsLowWhereNearTokensShowTheSame) {
    // The tokens have two groups of directions. `along` has a class per group, `across` mixes the groups.
    const auto tokens = torch::tensor({{1.F, 0.F}, {1.F, .1F}, {0.F, 3.F}, {.1F, 2.F}});
    const auto along = torch::tensor({{1.F, 0.F}, {1.F, 0.F}, {0.F, 1.F}, {0.F, 1.F}});
    const auto across = torch::tensor({{1.F, 0.F}, {0.F, 1.F}, {1.F, 0.F}, {0.F, 1.F}});
    EXPECT_LT(neighbourLoss(tokens, along).item<double>(), 1e-3);
    EXPECT_GT(neighbourLoss(tokens, across).item<double>(), 5);
    // Neighbours agree in half of their pixels.
    const auto half = torch::tensor({{1.F, 0.F}, {.5F, .5F}, {1.F, 0.F}, {.5F, .5F}});
    EXPECT_NEAR(neighbourLoss(tokens, half).item<double>(), std::log(2.0), 1e-3);
    // Patches without a known class, the length of rows and the scale of shares have no effect.
    const auto more = torch::cat({tokens, torch::tensor({{1.F, .05F}})});
    EXPECT_NEAR(neighbourLoss(more * 7, torch::cat({across, torch::zeros({1, 2})}) * 0.25).item<double>(),
                neighbourLoss(tokens, across).item<double>(), 1e-4);
    EXPECT_EQ(neighbourLoss(tokens, torch::zeros({4, 2})).item<double>(), 0);
}

TEST(NeighbourLoss, PatchesShowTheSharesOfTheirPixels) {
    const auto labels =
        torch::tensor({{0, 0, 1, 1}, {0, 0, 1, 2}, {2, 2, 255, 255}, {2, 0, 255, 1}}).unsqueeze(0);
    const auto wanted =
        torch::tensor({{1.F, 0.F, 0.F}, {0.F, .75F, .25F}, {.25F, 0.F, .75F}, {0.F, .25F, 0.F}});
    EXPECT_TRUE(torch::allclose(patchShares(labels, 3, 2, 2)[0], wanted));
}

/// Returns the neighbour loss of the tokens before block 1, as the mean over all images.
double strangers(Segmenter& model, const std::vector<mpm::pipeline::Sample>& samples) {
    const torch::NoGradGuard constant;
    model->eval();
    double sum = 0;
    for (const auto& sample : samples) {
        TokenTaps taps{{1}, {}};
        model->masks(toTensor(sample.image).unsqueeze(0), &taps);
        cv::Mat labels;
        sample.labels.convertTo(labels, CV_32S);
        const auto ids = torch::from_blob(labels.data, {1, labels.rows, labels.cols}, torch::kInt32);
        const auto shares = patchShares(ids, 11, labels.rows / 8, labels.cols / 8)[0];
        sum += neighbourLoss(taps.taps.at(0).tokens, shares).item<double>();
    }
    return sum / static_cast<double>(samples.size());
}

TEST_F(TrainTest, NeighboursLearnToShowTheSame) {
    auto o = options("apart");
    o.model.vit.patch = 8;
    o.data.augment.night = o.data.augment.colour = 0;
    o.steps = 60;
    o.meanDecay = 0.5;
    const auto samples = streetSamples(3, {96, 64});
    const auto trained = [&](const char* out, double share) {
        o.out = (m_folder / out).string();
        o.neighbourShare = share;
        train(o, {samples, {}, 11});
        Segmenter model = loadModel(o.out + "/checkpoint.pt");
        return strangers(model, samples);
    };
    const double without = trained("without", 0);
    o.neighbourBlocks = {1};
    EXPECT_LT(trained("with", 3), 0.87 * without);
    o.reducer = {"mpm", {1}};  // merged tokens learn from the classes of their clusters
    EXPECT_LT(trained("merging", 3), 0.87 * without);
    o.neighbourBlocks = {o.model.vit.depth};
    EXPECT_THROW(trained("beyond", 1), c10::Error);
}

/// Returns the mean difference between the outputs of two models for the same random images.
double apart(Segmenter& one, Segmenter& other) {
    const torch::NoGradGuard constant;
    one->eval();
    other->eval();
    torch::manual_seed(4);
    const auto images = torch::randn({4, 3, 64, 96});
    return (one->masks(images).softmax(1) - other->masks(images).softmax(1)).abs().mean().item<double>();
}

TEST_F(TrainTest, FollowsATeacher) {
    torch::manual_seed(1);
    auto o = options("followed");
    Segmenter teacher(o.model);
    // Noise in the weights makes the teacher's outputs independent of the labels.
    for (auto& parameter : teacher->parameters())
        parameter.data().add_(torch::randn_like(parameter), 0.15);
    fs::create_directories(m_folder);
    o.teacher = (m_folder / "teacher.pt").string();
    saveModel(o.teacher, teacher);
    o.steps = 50;
    o.meanDecay = 0.5;
    const auto distance = [&](double share, const char* out) {
        o.out = (m_folder / out).string();
        o.teacherShare = share;
        train(o, {streetSamples(2, {96, 64}), {}, 255});
        Segmenter trained = loadModel(o.out + "/checkpoint.pt");
        return apart(trained, teacher);
    };
    EXPECT_LT(distance(100, "close"), 0.75 * distance(0, "far"));
    auto others = o;  // a teacher or initial weights with another normalisation must be rejected
    others.model.normalisation = Normalisation::named("deit");
    EXPECT_THROW(train(others, {streetSamples(1, {96, 64}), {}, 255}), c10::Error);
    std::swap(others.teacher, others.from);
    EXPECT_THROW(train(others, {streetSamples(1, {96, 64}), {}, 255}), c10::Error);
    o.model.classes = 3;
    EXPECT_THROW(train(o, {streetSamples(1, {96, 64}), {}, 255}), c10::Error);
}

TEST_F(TrainTest, MeanOfWeightsIsTheMean) {
    fs::create_directories(m_folder);
    std::vector<std::string> paths;
    for (const double value : {1.0, 2.0, 6.0}) {
        Segmenter model(smallOptions(64, 96, 11));
        for (auto& parameter : model->parameters())
            parameter.data().fill_(value);
        paths.push_back((m_folder / (std::to_string(paths.size()) + ".pt")).string());
        saveModel(paths.back(), model);
    }
    auto mean = loadMean(paths);
    for (const auto& parameter : mean->parameters())
        EXPECT_LT((parameter - 3.0).abs().max().item<double>(), 1e-5);
    auto options = smallOptions(64, 96, 11);
    auto heads = options, bright = options;
    heads.vit.heads = 4;
    bright.normalisation = Normalisation::named("deit");
    for (const auto& others : {smallOptions(64, 64, 11), smallOptions(96, 64, 11), heads, bright}) {
        Segmenter other(others);
        saveModel(paths[1], other);
        EXPECT_THROW(loadMean(paths), c10::Error) << others.toJson();
    }
    options.vit.dropPath = 0.1;  // used only in training
    Segmenter other(options);
    saveModel(paths[1], other);
    EXPECT_NO_THROW(loadMean(paths));
}

TEST_F(TrainTest, GoesOnFromItsCheckpointWithTheSameCurve) {
    const TrainData data{streetSamples(3, {96, 64}), {}, 11};
    auto whole = options("whole"), cut = options("cut");
    whole.steps = cut.steps = 10;
    const auto expected = train(whole, data);
    cut.stopAfter = 6;  // leaves a checkpoint of step 4, but rows of results up to step 6
    train(cut, data);
    cut.stopAfter = 0;
    const auto rows = train(cut, data);
    ASSERT_EQ(rows.size(), expected.size());
    for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].step, expected[i].step);
        EXPECT_NEAR(rows[i].loss, expected[i].loss, 1e-5) << "step " << rows[i].step;
    }
}

void writeDataSet(const fs::path& root) {
    for (const char* split : {"train", "val"}) {
        fs::create_directories(root / split / "images");
        fs::create_directories(root / split / "labels");
        for (const auto& sample : streetSamples(3, {96, 64})) {
            cv::imwrite((root / split / "images" / (sample.name + ".png")).string(), sample.image);
            cv::imwrite((root / split / "labels" / (sample.name + ".png")).string(), sample.labels);
        }
    }
}

pid_t startProgram(const fs::path& root, const fs::path& out) {
    const pid_t child = fork();
    if (child != 0) return child;
    execl(MPM_MODELS_PROGRAM, "mpm-models", "train", "--data", root.c_str(), "--out", out.c_str(), "--steps",
          "8", "--size", "64", "96", "--crop", "64", "96", "--batch", "1", "--checkpoint-every", "2",
          "--warm-up", "2", nullptr);
    _exit(127);
}

std::vector<std::string> lossColumn(const fs::path& csv) {
    std::ifstream file(csv);
    std::vector<std::string> column;
    for (std::string line; std::getline(file, line);) {
        std::stringstream cells(line);
        std::string cell;
        for (int i = 0; i < 4; ++i)
            std::getline(cells, cell, ',');
        column.push_back(cell);
    }
    return column;
}

/// Uses the commands of the guide.
TEST_F(TrainTest, SplitsOfTheBuiltInStreetShareNoImage) {
    for (const char* split : {"train --seed 2", "val"}) {
        const std::string command = std::string(MPM_MODELS_PROGRAM) + " scene " + m_folder.string() +
                                    " --frames 3 --size 64 96 --split " + split + " > /dev/null";
        ASSERT_EQ(std::system(command.c_str()), 0);
    }
    for (const auto& one : fs::directory_iterator(m_folder / "train/images"))
        for (const auto& other : fs::directory_iterator(m_folder / "val/images"))
            EXPECT_GT(cv::norm(cv::imread(one.path()), cv::imread(other.path()), cv::NORM_INF), 0);
}

TEST_F(TrainTest, RejectsCountsOfZero) {
    for (const char* option : {"--workers", "--parts", "--batch", "--validate-every", "--checkpoint-every"}) {
        const std::string command = std::string(MPM_MODELS_PROGRAM) + " train --data " + m_folder.string() +
                                    " --out " + (m_folder / "run").string() + " " + option +
                                    " 0 > /dev/null 2>&1";
        EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2) << option;
    }
}

TEST_F(TrainTest, NightIsAShareOrItsNumbers) {
    fs::create_directories(m_folder);
    const auto status = [&](const std::string& night) {
        const std::string command = std::string(MPM_MODELS_PROGRAM) + " train --data " + m_folder.string() +
                                    " --out " + (m_folder / "run").string() + " --night " + night +
                                    " > /dev/null 2>&1";
        return WEXITSTATUS(std::system(command.c_str()));
    };
    for (const char* wrong : {"0.35,250", "0.35,0,0.01", "0.3,1,0,0.01", "0.3,1,250,0.01,0"})
        EXPECT_EQ(status(wrong), 2) << wrong;
    for (const char* right : {"0.35,250,0.01", "0.3", "0.3,1,250,0.01"})
        EXPECT_NE(status(right), 2) << right << ": there are no images";
    AugmentOptions options;
    options.height = 64, options.width = 96;
    options.night = 1;
    options.fixedNight = mpm::street::NightParameters{0, 250, 0};
    mpm::Random random(1);
    const auto night = augment(streetSamples(1, {96, 64})[0], options, 11, random);
    EXPECT_EQ(cv::norm(night.image, cv::NORM_INF), 0);
}

TEST_F(TrainTest, SurvivesKill) {
    writeDataSet(m_folder / "data");
    int status = 0;
    waitpid(startProgram(m_folder / "data", m_folder / "whole"), &status, 0);
    ASSERT_EQ(WEXITSTATUS(status), 0);
    const pid_t child = startProgram(m_folder / "data", m_folder / "cut");
    const fs::path csv = m_folder / "cut/curve.csv";
    for (int i = 0; i < 3000 && lossColumn(csv).size() < 4; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the run was over before it could be killed";
    waitpid(startProgram(m_folder / "data", m_folder / "cut"), &status, 0);
    ASSERT_EQ(WEXITSTATUS(status), 0);
    const auto expected = lossColumn(m_folder / "whole/curve.csv"), resumed = lossColumn(csv);
    ASSERT_EQ(resumed.size(), expected.size());
    for (size_t i = 1; i < resumed.size(); ++i)
        EXPECT_NEAR(std::stod(resumed[i]), std::stod(expected[i]), 1e-4) << "row " << i;
}

TEST_F(TrainTest, SavedWeightsPredictTheSame) {
    auto model = smallModel(smallOptions(64, 96, 11), 9);
    fs::create_directories(m_folder);
    const auto path = (m_folder / "model.pt").string();
    saveModel(path, model);
    auto loaded = loadModel(path);
    const auto sample = streetSamples(1, {96, 64})[0];
    EXPECT_EQ(cv::norm(predict(model, sample.image), predict(loaded, sample.image), cv::NORM_INF), 0);
    std::ofstream(path) << "not an archive";
    EXPECT_ANY_THROW(loadModel(path));
    EXPECT_ANY_THROW(loadModel((m_folder / "absent.pt").string()));
}

}  // namespace
