// Compares COCO's figures with those of COCO's code and of a second implementation, and reads damaged files.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/random.hpp"
#include "pipeline/dataset/coco_files.hpp"
#include "pipeline/metric/plain_coco.hpp"
#include "support/shared.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using pipeline::CocoObject;

json readJson(const std::string& path) {
    std::ifstream file(path);
    return json::parse(file);
}

void expectFigures(const pipeline::CocoFigures& figures, const json& expected, const std::string& where) {
    for (size_t i = 0; i < figures.size(); ++i) {
        const char* name = pipeline::kCocoFigures[i];
        if (!expected.contains(name)) continue;
        EXPECT_NEAR(figures[i], expected[name], 1e-12) << where << " " << name;
    }
}

void expectSet(const std::string& stem) {
    const json expected = readJson(stem + ".expected.json");
    const bool masks = expected["iou_type"] == "segm";
    const pipeline::CocoTruth truth = pipeline::readCocoTruth(stem + ".annotations.json", masks);
    size_t leftOut = 0;
    const auto found = pipeline::readCocoResults(stem + ".detections.json", truth, masks, leftOut);
    const pipeline::CocoScores scores = pipeline::cocoScores(
        cocoMatches(truth.imageIds(), truth.categoryIds(), truth.objects, found), truth.categoryIds());
    EXPECT_EQ(expected["stats"].size(), scores.figures.size());
    expectFigures(scores.figures, expected["stats"], stem);
    ASSERT_EQ(scores.categories.size(), expected["categories"].size());
    for (size_t i = 0; i < scores.categories.size(); ++i) {
        const pipeline::CocoCategoryScores& category = scores.categories[i];
        const json& wanted = expected["categories"][i];
        const std::string where = stem + " category " + std::to_string(category.id);
        EXPECT_EQ(category.id, wanted["id"]);
        EXPECT_EQ(truth.categories.at(category.id), wanted["name"]);
        expectFigures(category.figures, wanted, where);
        EXPECT_NEAR(category.recall50, wanted["recall_at_50"], 1e-12) << where;
        for (size_t r = 0; r < category.precision50.size(); ++r)
            EXPECT_NEAR(category.precision50[r], wanted["precision_at_50"][r], 1e-12) << where << " at " << r;
    }
    if (!masks) return;
    const json annotations = readJson(stem + ".annotations.json")["annotations"];
    for (size_t i = 0; i < annotations.size(); ++i) {
        const std::string id = annotations[i]["id"].dump();
        if (!expected["polygon_masks"].contains(id)) continue;
        EXPECT_EQ(runLengthsText(truth.objects[i].mask), expected["polygon_masks"][id]["counts"]) << id;
    }
}

TEST(Coco, EqualsCocosOwnCode) {
    const std::string folder = sharedDir() + "/fixtures/coco";
    if (!fs::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
    int sets = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string path = entry.path().string();
        const size_t end = path.find(".expected.json");
        if (end == std::string::npos) continue;
        expectSet(path.substr(0, end));
        ++sets;
    }
    EXPECT_GT(sets, 0);
}

cv::Rect2d randomBox(Random& random) {
    // There are few different numbers, so overlaps and areas are often equal, or exactly at a limit.
    const int side[] = {16, 20, 32, 40, 64, 96, 128};
    return {double(4 * random.below(12)), double(4 * random.below(12)), double(side[random.below(7)]),
            double(side[random.below(7)])};
}

PlainCoco randomSet(uint64_t seed) {
    Random random(seed);
    PlainCoco set;
    for (int i = 1 + random.below(5); i-- > 0;)
        set.images.push_back(1 + (i * 7 + 3) % 11);
    for (int i = 1 + random.below(3); i-- > 0;)
        set.categories.push_back(1 + 2 * i);
    const auto object = [&] {
        CocoObject one;
        one.image = set.images[random.below(int(set.images.size()))];
        one.category = set.categories[random.below(int(set.categories.size()))];
        one.box = randomBox(random);
        return one;
    };
    for (int i = random.below(20); i-- > 0;) {
        set.truth.push_back(object());
        const double areas[] = {1023.99, 1024, 1024.01, 9216, 9216.01, 0, 1e10};
        set.truth.back().area = areas[random.below(7)];
        set.truth.back().crowd = random.chance(.15);
    }
    for (int i = random.below(seed % 10 == 0 ? 300 : 40); i-- > 0;) {
        CocoObject one = object();
        if (!set.truth.empty() && random.chance(.7)) one = set.truth[random.below(int(set.truth.size()))];
        if (random.chance(.5)) one.box.x += 4 * random.below(3), one.box.height += 4 * random.below(3);
        if (random.chance(.05)) one.box.width = 0;
        one.score = random.below(8) / 8.;
        one.area = one.box.width * one.box.height;
        one.crowd = false;
        set.found.push_back(one);
    }
    return set;
}

TEST(Coco, EqualsASecondWritingOnMadeUpSets) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        const PlainCoco set = randomSet(seed);
        const pipeline::CocoScores scores = pipeline::cocoScores(
            cocoMatches(set.images, set.categories, set.truth, set.found), set.categories);
        const std::vector<double> plain = set.figures();
        for (size_t i = 0; i < plain.size(); ++i)
            EXPECT_NEAR(scores.figures[i], plain[i], 1e-9)
                << "set " << seed << " " << pipeline::kCocoFigures[i];
    }
}

// There are two objects and three detections. The first and third detections are right, the second is wrong.
TEST(Coco, FollowsByHand) {
    CocoObject object;
    object.image = object.category = 1;
    object.box = {0, 0, 40, 40};
    object.area = 1600;
    CocoObject other = object;
    other.box.x = 100;
    CocoObject right = object, wrong = object, second = other;
    right.score = .9, wrong.score = .8, second.score = .7;
    wrong.box.y = 200;
    const pipeline::CocoScores scores =
        pipeline::cocoScores(pipeline::cocoMatches({1}, {1}, {object, other}, {right, wrong, second}), {1});
    const double ap = (51 * 1. + 50 * 2. / 3) / 101;
    EXPECT_NEAR(scores.figures[0], ap, 1e-9);
    EXPECT_NEAR(scores.figures[3], -1, 0);
    EXPECT_NEAR(scores.figures[4], ap, 1e-9);
    EXPECT_NEAR(scores.figures[6], .5, 1e-9);
    EXPECT_NEAR(scores.figures[8], 1, 1e-9);
}

TEST(RunLengths, KeepAMask) {
    Random random(4);
    for (int trial = 0; trial < 100; ++trial) {
        cv::Mat mask(1 + random.below(9), 1 + random.below(9), CV_8U);
        for (int i = 0; i < int(mask.total()); ++i)
            mask.data[i] = uchar(random.below(2));
        const pipeline::RunLengths runs = pipeline::runLengths(mask);
        EXPECT_EQ(cv::norm(runs.mask(), mask, cv::NORM_INF), 0);
        EXPECT_EQ(runs.area(), cv::countNonZero(mask));
        cv::Rect box;
        for (int y = 0; y < mask.rows; ++y)
            for (int x = 0; x < mask.cols; ++x)
                if (mask.at<uchar>(y, x) != 0) box |= cv::Rect(x, y, 1, 1);
        EXPECT_EQ(runs.box(), box);
        EXPECT_EQ(pipeline::runLengthsFrom(mask.size(), runLengthsText(runs)).runs, runs.runs);
    }
}

TEST(RunLengths, OverlapOfMasksIsThatOfTheirPixels) {
    Random random(5);
    for (int trial = 0; trial < 100; ++trial) {
        cv::Mat a(6, 7, CV_8U), b(6, 7, CV_8U);
        for (int i = 0; i < 42; ++i)
            a.data[i] = uchar(random.below(2)), b.data[i] = uchar(random.below(3) == 0);
        const double both = cv::countNonZero(a & b), either = cv::countNonZero(a | b);
        const auto first = pipeline::runLengths(a), second = pipeline::runLengths(b);
        EXPECT_DOUBLE_EQ(overlap(first, second, false), both / either);
        EXPECT_DOUBLE_EQ(overlap(first, second, true), both / cv::countNonZero(a));
    }
}

TEST(RunLengths, PolygonsJoin) {
    const cv::Size size(20, 10);
    const auto square = [](double x) { return std::vector<double>{x, 2, x + 5, 2, x + 5, 7, x, 7}; };
    const auto mask = pipeline::runLengthsOf({square(1), square(4), square(12)}, size);
    const cv::Mat expected = pipeline::runLengthsOf({square(1)}, size).mask() |
                             pipeline::runLengthsOf({square(4)}, size).mask() |
                             pipeline::runLengthsOf({square(12)}, size).mask();
    EXPECT_EQ(cv::norm(mask.mask(), expected, cv::NORM_INF), 0);
    EXPECT_EQ(pipeline::runLengthsOf({square(1)}, size).area(), 25);
}

// ---- damaged files ----

class CocoFile : public ::testing::Test {
protected:
    std::string write(const std::string& name, const std::string& text) {
        std::ofstream(m_folder / name) << text;
        return m_folder / name;
    }
    std::string truthFault(const std::string& text, bool masks = false) {
        try {
            pipeline::readCocoTruth(write("truth.json", text), masks);
        } catch (const cv::Exception& error) {
            return error.err;
        }
        return {};
    }
    std::string resultFault(const std::string& text, bool masks = false) {
        pipeline::CocoTruth truth;
        truth.images[1] = {"a.jpg", {20, 10}};
        truth.categories[1] = "cat";
        size_t leftOut = 0;
        try {
            pipeline::readCocoResults(write("results.json", text), truth, masks, leftOut);
        } catch (const cv::Exception& error) {
            return error.err;
        }
        return {};
    }
    static std::string annotations(const std::string& entries) {
        return R"({"images":[{"id":1,"width":20,"height":10}],"categories":[{"id":1,"name":"cat"}],"annotations":[)" +
               entries + "]}";
    }

    TempFolder m_folder;
};

TEST_F(CocoFile, NamesTheFaultOfAnnotations) {
    const auto expectFault = [&](const std::string& text, const std::string& part, bool masks = false) {
        EXPECT_NE(truthFault(text, masks).find(part), std::string::npos)
            << text.substr(0, 200) << ": " << truthFault(text, masks);
    };
    const std::string good =
        R"({"id":1,"image_id":1,"category_id":1,"bbox":[1,2,3,4],"area":12,"iscrowd":0})";
    EXPECT_EQ(truthFault(annotations(good)), "");
    expectFault("", "is no JSON");
    expectFault("[]", "is no JSON object with images");
    expectFault("{}", "lists no images");
    expectFault(annotations(good + "," + good), "another annotation has its id 1");
    expectFault(annotations(R"({"id":1,"image_id":1,"category_id":1,"bbox":[1,2,3,4]})"), "has no \"area\"");
    expectFault(annotations(R"({"image_id":1,"category_id":1,"bbox":[1,2,3,4],"area":1})"), "has no \"id\"");
    expectFault(annotations(R"({"id":1,"image_id":1,"category_id":1,"bbox":[1,2,3],"area":1})"),
                "four numbers");
    expectFault(annotations(R"({"id":1,"image_id":1,"category_id":1,"bbox":[1,2,3,1e300],"area":1})"),
                "at most");
    expectFault(annotations(R"({"id":1,"image_id":1,"category_id":1,"bbox":[1,2,3,NaN],"area":1})"),
                "is no JSON");
    expectFault(annotations(R"({"id":1.5,"image_id":1,"category_id":1,"bbox":[1,2,3,4],"area":1})"),
                "whole number");
    expectFault(annotations(R"({"id":1,"image_id":"a","category_id":1,"bbox":[1,2,3,4],"area":1})"),
                "whole number");
    expectFault(annotations("7"), "is no JSON object");
    expectFault(annotations(std::string(1000, '[') + std::string(1000, ']')), "lists in lists");
    expectFault(annotations(good), "has no \"segmentation\"", true);
    const auto mask = [](const std::string& text) {
        return annotations(R"({"id":1,"image_id":1,"category_id":1,"area":1,"segmentation":)" + text + "}");
    };
    EXPECT_EQ(truthFault(mask("[[1,1,5,1,5,5]]"), true), "");
    EXPECT_EQ(truthFault(mask(R"({"size":[10,20],"counts":[150,50]})"), true), "");
    expectFault(mask("[]"), "no polygon", true);
    expectFault(mask("[[1,1,5,1e8,5,5]]"), "10^7", true);
    expectFault(mask("7"), "polygons or run lengths", true);
    expectFault(mask(R"({"size":[10,20],"counts":[150]})"), "its size 200", true);
    expectFault(mask(R"({"size":[10,20],"counts":[300,-100]})"), "a mask's run", true);
    expectFault(mask(R"({"size":[10,20],"counts":"zzz"})"), "damaged", true);
    expectFault(mask(R"({"size":[10,1e9],"counts":[1]})"), "at most 65535", true);
    expectFault(mask(R"({"size":[10],"counts":[1]})"), "two numbers", true);
}

TEST_F(CocoFile, NamesTheFaultOfResults) {
    const auto expectFault = [&](const std::string& text, const std::string& part, bool masks = false) {
        EXPECT_NE(resultFault(text, masks).find(part), std::string::npos)
            << text.substr(0, 200) << ": " << resultFault(text, masks);
    };
    EXPECT_EQ(resultFault("[]"), "");
    EXPECT_EQ(resultFault(R"([{"image_id":1,"category_id":1,"bbox":[1,2,3,4],"score":0.5}])"), "");
    expectFault("{}", "no JSON list");
    expectFault("[1]", "entry 0 is no JSON object");
    expectFault(R"([{"image_id":1,"category_id":1,"bbox":[1,2,3,4]}])", "has no \"score\"");
    expectFault(R"([{"image_id":1,"category_id":1,"bbox":[1,2,3,4],"score":null}])", "must be a number");
    expectFault(R"([{"image_id":1,"category_id":1,"bbox":[1,2,3,4],"score":1e999}])", "is no JSON");
    expectFault(R"([{"image_id":1,"category_id":1,"score":0.5}])", "has no \"bbox\"");
    expectFault(R"([{"category_id":1,"bbox":[1,2,3,4],"score":0.5}])", "has no \"image_id\"");
}

}  // namespace
}  // namespace mpm::test
