#include "models/torch/train/boxes.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <mpm/mpm.hpp>
#include <opencv2/dnn.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "base/random.hpp"
#include "models/torch/data/datasets.hpp"
#include "models/torch/export/onnx.hpp"
#include "models/torch/train/train.hpp"
#include "tests/models/torch/small_model.hpp"
#include "tests/support/temp_folder.hpp"

using namespace mpm::models;

namespace {

using Object = BoxImage::Object;

const cv::Size kSize(96, 64);

/// Writes images with bright rectangles (class 0) and red rectangles (class 2) on dark noise.
std::vector<BoxImage> rectangles(const std::string& folder, int count, uint64_t seed) {
    std::vector<BoxImage> all;
    mpm::Random random(seed);
    for (int i = 0; i < count; ++i) {
        cv::Mat image(kSize, CV_8UC3);
        cv::randu(image, 0, 60);
        BoxImage one{folder + "/" + std::to_string(seed) + "_" + std::to_string(i) + ".png", kSize, {}};
        for (int half = 0; half < 2; ++half) {
            const cv::Rect box(48 * half + random.below(16), random.below(24), 16 + random.below(16),
                               16 + random.below(24));
            const int label = random.chance(.5) ? 0 : 2;
            cv::rectangle(image, box, label == 0 ? cv::Scalar(220, 220, 220) : cv::Scalar(0, 0, 230),
                          cv::FILLED);
            one.objects.push_back({box, label, false});
        }
        cv::imwrite(one.path, image);
        all.push_back(one);
    }
    return all;
}

SegmenterOptions detectorOptions() {
    auto options = smallOptions(kSize.height, kSize.width, 3);
    options.decoder = "boxes";
    return options;
}

TEST(Boxes, ADetectorLearnsRectangles) {
    const mpm::test::TempFolder folder;
    TrainOptions o;
    o.model = detectorOptions();
    o.data.batch = 4;
    o.data.augment.height = kSize.height, o.data.augment.width = kSize.width;
    o.data.augment.scaleLow = .9, o.data.augment.scaleHigh = 1.1;
    o.data.augment.night = o.data.augment.colour = 0;
    o.out = folder / "run";
    o.steps = 250, o.warmUp = 20, o.validateEvery = 1000, o.checkpointEvery = 1000, o.quiet = true;
    o.meanDecay = .95, o.mixed = false;
    TrainData data;
    data.boxes = rectangles(folder.path(), 40, 1), data.validationBoxes = rectangles(folder.path(), 12, 2);
    const auto rows = train(o, data);
    EXPECT_LT(rows.back().loss, .3 * rows.front().loss);
    EXPECT_GT(rows.back().miou, .15) << "AP of images that it did not see";
    EXPECT_TRUE(std::filesystem::exists(folder / "run/best.pt"));
}

/// Returns the outputs of a detector without errors. The patches of an object have the object's box. The
/// patch at the centre has a high score, all other patches low scores.
SegmenterImpl::Boxes perfect(const std::vector<Object>& objects) {
    SegmenterImpl::Boxes found{torch::full({1, 24, 4}, .5), torch::full({1, 24, 3}, -12.0)};
    for (const Object& one : objects) {
        const cv::Point2d centre = (one.box.tl() + one.box.br()) / 2;
        const double values[] = {centre.x / kSize.width, centre.y / kSize.height, one.box.width / kSize.width,
                                 one.box.height / kSize.height};
        for (int64_t patch = 0; patch < 24; ++patch) {
            const cv::Rect2d around(double(patch % 6) * 16, double(patch / 6) * 16, 16, 16);
            if ((around & cv::Rect2d(one.box)).empty()) continue;
            for (int k = 0; k < 4; ++k)
                found.boxes[0][patch][k] = values[k];
        }
        found.scores[0][int64_t(centre.y / 16) * 6 + int64_t(centre.x / 16)][one.label] = 12.0;
    }
    return found;
}

double lossOf(const SegmenterImpl::Boxes& found, const std::vector<Object>& objects) {
    return boxLoss(found, {objects}, kSize).item<double>();
}

TEST(Boxes, LossIsLowForWhatIsRightOnly) {
    const std::vector<Object> objects = {{{4, 4, 20, 30}, 1, false}, {{60, 20, 30, 40}, 2, false}};
    const auto right = perfect(objects);
    EXPECT_LT(lossOf(right, objects), 1e-3);
    auto moved = objects, otherClass = objects, missing = objects;
    moved[0].box.x += 8, otherClass[1].label = 0, missing.pop_back();
    EXPECT_GT(lossOf(perfect(moved), objects), .1);
    EXPECT_GT(lossOf(perfect(otherClass), objects), 1);
    EXPECT_GT(lossOf(perfect(missing), objects), 1);
    auto twice = right;
    twice.scores[0][0][1] = 12.0;  // a second patch also has the first object
    twice.boxes[0][0] = twice.boxes[0][7].clone();
    EXPECT_GT(lossOf(twice, objects), 1);
    EXPECT_LT(lossOf(perfect({}), {}), 1e-3);
}

TEST(Boxes, AnObjectThatWasLearnedNextToItsCentreCostsLessThanAwayFromIt) {
    const std::vector<Object> wide = {{{0, 0, 96, 64}, 1, false}};
    const auto costOf = [&](int64_t patch) {
        auto found = perfect(wide);
        found.scores[0][patch][1] = 12.0;
        return lossOf(found, wide);
    };
    EXPECT_LT(costOf(14), .5 * costOf(12));
    EXPECT_GT(costOf(14), lossOf(perfect(wide), wide));
}

TEST(Boxes, OfNeighboursTheBestKeepsItsScore) {
    auto scores = torch::full({1, 12, 2}, -3.0);  // 12 patches are 3 x 4
    scores[0][5][0] = 2.0, scores[0][6][0] = 1.0, scores[0][5][1] = scores[0][8][1] = 1.0;
    const auto found = joinNeighbours({torch::rand({1, 12, 4}), scores}, 3, 4).scores;
    EXPECT_FLOAT_EQ(found[0][5][0].item<float>(), 2);
    EXPECT_FLOAT_EQ(found[0][6][0].item<float>(), 1 - kPeak);
    EXPECT_FLOAT_EQ(found[0][5][1].item<float>(), 1) << "equals; the other class";
    EXPECT_FLOAT_EQ(found[0][8][1].item<float>(), 1);
    EXPECT_FLOAT_EQ(found[0][11][1].item<float>(), -3) << "two columns from the best";
}

TEST(Boxes, ABoxIsTheMeanOfItsNeighboursByScore) {
    auto scores = torch::full({1, 12, 2}, -20.0), boxes = torch::rand({1, 12, 4});
    scores[0][5][1] = scores[0][6][0] = 1.0, scores[0][9][0] = -1.0;
    boxes[0][5] = torch::tensor({.5, .6, .2, .1}), boxes[0][6] = torch::tensor({.6, .6, .2, .1});
    boxes[0][9] = torch::tensor({.5, .9, .2, .1});
    const auto found = joinNeighbours({boxes, scores}, 3, 4).boxes[0];
    const double high = std::pow(1 / (1 + std::exp(-1)), 3), low = std::pow(1 / (1 + std::exp(1)), 3);
    const double x = (.5 * (high + low) + .6 * high) / (2 * high + low);
    const double y = (1.2 * high + .9 * low) / (2 * high + low);
    for (const int64_t patch : {5, 6})
        EXPECT_LT((found[patch] - torch::tensor({x, y, .2, .1})).abs().max().item<float>(), 1e-4);
    for (const auto& [patch, only] : std::vector<std::pair<int64_t, int64_t>>{{0, 5}, {3, 6}, {11, 6}})
        EXPECT_LT((found[patch] - boxes[0][only]).abs().max().item<float>(), 1e-4) << patch;
}

TEST(Boxes, IgnoredObjectsMayBeFoundOrNot) {
    std::vector<Object> objects = {{{4, 4, 20, 30}, 1, false}, {{60, 20, 30, 40}, 2, false}};
    const auto both = perfect(objects), first = perfect({objects[0]});
    objects[1].ignored = true;
    EXPECT_LT(lossOf(both, objects), 1e-3);
    EXPECT_LT(lossOf(first, objects), 1e-3);
    EXPECT_GT(lossOf(perfect({objects[1]}), objects), 1) << "the first is not ignored";
}

TEST(Boxes, MoreObjectsThanPatchesAreNoError) {
    const std::vector<Object> many(50, {{4, 4, 20, 30}, 1, false});
    EXPECT_TRUE(std::isfinite(lossOf(perfect({}), many)));
}

TEST(Boxes, CropsMoveBoxesWithTheirPixels) {
    const mpm::test::TempFolder folder;
    BatchSource::Options options;
    options.batch = 40, options.augment.height = 48, options.augment.width = 64;
    options.augment.night = options.augment.colour = 0;
    options.augment.scaleLow = 1.1, options.augment.scaleHigh = 1.4;  // enlarges, so there is no border
    cv::Mat image(kSize, CV_8UC3, cv::Scalar::all(0));
    const cv::Rect box(30, 20, 30, 24);
    image(box).setTo(cv::Scalar::all(255));
    const BoxImage one{folder / "one.png", kSize, {{box, 1, false}}};
    cv::imwrite(one.path, image);
    const auto batch = boxBatch({one}, options, 3);
    int seen = 0, whole = 0;
    for (int64_t b = 0; b < 40; ++b)
        for (const Object& there : batch.objects[size_t(b)]) {
            if (there.ignored) continue;
            ++seen;
            const auto& r = there.box;
            const auto inner = batch.images[b][0]
                                   .slice(0, int64_t(r.y + 2.5), int64_t(r.br().y - 2.5) + 1)
                                   .slice(1, int64_t(r.x + 2.5), int64_t(r.br().x - 2.5) + 1);
            EXPECT_GT(inner.min().item<float>(), .4);
            const auto light = (batch.images[b][0] + 1) / 2, all = light.sum();
            const auto centre = [&](int64_t axis) {
                return ((torch::arange(light.size(axis)) + .5) * light.sum(1 - axis) / all).sum();
            };
            if (r.x > 0 && r.y > 0 && r.br().x < 64 && r.br().y < 48) {
                EXPECT_NEAR(centre(1).item<double>(), r.x + r.width / 2, .1);
                EXPECT_NEAR(centre(0).item<double>(), r.y + r.height / 2, .1);
                ++whole;
            }
            EXPECT_NEAR((batch.images[b][0] > .5).sum().item<double>(), r.area(), .2 * r.area() + 8);
        }
    EXPECT_GT(seen, 20);
    EXPECT_GT(whole, 5);
    EXPECT_TRUE(torch::equal(batch.images, boxBatch({one}, options, 3).images));
}

TEST(Boxes, OpenCvComputesWhatLibTorchComputes) {
    const mpm::test::TempFolder folder;
    auto options = detectorOptions();
    options.classes = 11, options.vit.depth = 6;
    auto model = smallModel(options, 5);
    const std::string standard = folder / "standard.onnx", fused = folder / "fused.onnx";
    EXPECT_LE(exportStandard(model, mpm::pipeline::camvidClasses(), standard), 1e-4);
    EXPECT_LE(exportFused(model, mpm::pipeline::camvidClasses(), {2, 5}, fused), 1e-4);
    const auto info = mpm::modelInfo(fused);
    ASSERT_TRUE(info.detections);
    cv::dnn::Net net = cv::dnn::readNetFromONNX(fused);
    const std::vector<cv::String> names = net.getUnconnectedOutLayersNames();
    std::vector<cv::Mat> outputs;
    net.setInput(cv::dnn::blobFromImage(cv::Mat(kSize, CV_8UC3, cv::Scalar::all(9))));
    net.forward(outputs, names);
    const auto all = mpm::detections(outputs, {names.begin(), names.end()}, info, kSize, 0.f);
    EXPECT_FALSE(all.empty());
}

TEST(Boxes, AnEncoderOfAnotherKindOfModelIsTaken) {
    auto mask = smallModel(smallOptions(kSize.height, kSize.width, 3), 1);
    auto detector = smallModel(detectorOptions(), 2);
    const auto before = detector->named_parameters()["decoder.scores.weight"].clone();
    copyWeights(detector, mask);
    EXPECT_TRUE(torch::equal(detector->encoder->norm->weight, mask->encoder->norm->weight));
    EXPECT_TRUE(torch::equal(detector->named_parameters()["decoder.scores.weight"], before));
    EXPECT_ANY_THROW(detector->masks(torch::zeros({1, 3, 64, 96})));
    EXPECT_ANY_THROW(mask->boxes(torch::zeros({1, 3, 64, 96})));
}

TEST(Boxes, ADetectorRejectsCrops) {
    const mpm::test::TempFolder folder;
    std::filesystem::create_directories(folder / "train/images");
    cv::imwrite(folder / "train/images/a.png", cv::Mat(kSize, CV_8UC3, cv::Scalar::all(0)));
    std::ofstream(folder / "train/annotations.json")
        << R"({"images": [{"id": 7, "file_name": "a.png", "width": 96, "height": 64}], "annotations": [],
               "categories": [{"id": 0, "name": "car"}]})";
    const std::string command = std::string(MPM_MODELS_PROGRAM) + " train --decoder boxes --data " +
                                folder.path() + " --out " + (folder / "run") +
                                " --size 64 96 --crop 32 48 2>" + (folder / "log");
    EXPECT_NE(std::system(command.c_str()), 0);
    std::ifstream log(folder / "log");
    const std::string text{std::istreambuf_iterator<char>(log), {}};
    EXPECT_NE(text.find("--crop must be --size"), std::string::npos) << text;
}

TEST(Boxes, ReadsAnnotationsAndNamesTheirFaults) {
    const mpm::test::TempFolder folder;
    std::filesystem::create_directories(folder / "train");
    const auto write = [&](const std::string& text) {
        std::ofstream(folder / "train/annotations.json") << text;
    };
    const auto fault = [&]() -> std::string {
        try {
            readBoxImages(folder.path(), "train");
        } catch (const cv::Exception& error) {
            return error.err;
        }
        return {};
    };
    EXPECT_NE(fault().find("annotations.json"), std::string::npos);
    std::filesystem::create_directories(folder / "train/images");
    cv::imwrite(folder / "train/images/a.png", cv::Mat(kSize, CV_8UC3, cv::Scalar::all(0)));
    const std::string images = R"("images": [{"id": 7, "file_name": "a.png", "width": 96, "height": 64}])";
    write("{" + images + R"(, "categories": [{"id": 3, "name": "car"}],
           "annotations": [{"id": 1, "image_id": 7, "category_id": 3, "bbox": [1, 2, 30, 40], "area": 1200,
                            "iscrowd": 1}]})");
    const auto read = readBoxImages(folder.path(), "train");
    ASSERT_EQ(read.images.size(), 1u);
    EXPECT_EQ(read.names, (std::vector<std::string>{"", "", "", "car"}));
    ASSERT_EQ(read.images[0].objects.size(), 1u);
    EXPECT_EQ(read.images[0].objects[0].box, cv::Rect2d(1, 2, 30, 40));
    EXPECT_TRUE(read.images[0].objects[0].ignored);
    write("{" + images + R"(, "categories": [{"id": 2000000000, "name": "car"}], "annotations": []})");
    EXPECT_NE(fault().find("category 2000000000"), std::string::npos) << fault();
    write(R"({"images": [], "categories": [{"id": 3, "name": "car"}], "annotations": []})");
    EXPECT_NE(fault().find("no image"), std::string::npos) << fault();
    write("{" + images + R"(, "categories": [], "annotations": []})");
    EXPECT_NE(fault().find("no category"), std::string::npos) << fault();
    for (const auto& [name, problem] : {std::pair{"b.png", "there is no"}, {"../a.png", "is not below"}}) {
        write(R"({"images": [{"id": 7, "width": 96, "height": 64, "file_name": ")" + std::string(name) +
              R"("}], "categories": [{"id": 0, "name": "car"}], "annotations": []})");
        EXPECT_NE(fault().find(problem), std::string::npos) << fault();
    }
    const BoxImage other{folder / "train/images/a.png", {48, 32}, {}};
    EXPECT_ANY_THROW(wholeImage(other, kSize, {})) << "annotations for another size";
}

TEST(Boxes, ClassesOfASingleSplitNeedNoImages) {
    const mpm::test::TempFolder folder;
    std::filesystem::create_directories(folder / "val");
    std::ofstream(folder / "val/annotations.json")
        << R"({"images": [{"id": 7, "file_name": "a.png", "width": 96, "height": 64}], "annotations": [],
               "categories": [{"id": 0, "name": "car"}, {"id": 1, "name": "person"}]})";
    EXPECT_EQ(classesOf("boxes", folder.path()).names, (std::vector<std::string>{"car", "person"}));
}

}  // namespace
