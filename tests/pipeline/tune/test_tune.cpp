// Tuning: agreement of each kind of output, the candidates, and the search with simulated times.
#include <cmath>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include "pipeline/measure/watcher.hpp"
#include "pipeline/tune/model_trials.hpp"
#include "pipeline/tune/tune.hpp"

namespace mpm::pipeline {
namespace {

cv::Mat noise(int rows, int columns, int seed) {
    cv::Mat values(rows, columns, CV_32F);
    cv::RNG random(static_cast<std::uint64_t>(seed) + 1);
    random.fill(values, cv::RNG::NORMAL, 0, 1);
    return values;
}

TEST(Agreement, LabelsAreCounted) {
    const cv::Mat full = (cv::Mat_<uchar>(2, 2) << 1, 2, 3, 4), other = (cv::Mat_<uchar>(2, 2) << 1, 2, 3, 9);
    EXPECT_DOUBLE_EQ(labelAgreement(full, full), 1);
    EXPECT_DOUBLE_EQ(labelAgreement(full, other), 0.75);
}

TEST(Agreement, MapsAreComparedByTheirDeviation) {
    const cv::Mat full = (cv::Mat_<float>(1, 4) << 0, 0, 2, 2);  // standard deviation 1
    EXPECT_DOUBLE_EQ(mapAgreement(full, full), 1);
    EXPECT_DOUBLE_EQ(mapAgreement(full, full + 0.25), 0.75);
    const cv::Mat flat(1, 4, CV_32F, cv::Scalar(3));
    EXPECT_DOUBLE_EQ(mapAgreement(flat, flat), 1) << "both flat";
    EXPECT_DOUBLE_EQ(mapAgreement(flat, full), 0) << "one of them flat";
    EXPECT_DOUBLE_EQ(mapAgreement(full, flat), 0) << "the other one, with a difference of more than 1";
    const cv::Mat steep = (cv::Mat_<float>(1, 4) << 0, 0, 0, 4);
    EXPECT_DOUBLE_EQ(mapAgreement(steep, cv::Mat::zeros(1, 4, CV_32F)), 0) << "though it is close";
    for (const float bad : {NAN, INFINITY}) {
        cv::Mat one = full.clone();
        one.at<float>(2) = bad;
        EXPECT_DOUBLE_EQ(mapAgreement(one, full), 0);
        EXPECT_DOUBLE_EQ(mapAgreement(full, one), 0);
        EXPECT_DOUBLE_EQ(mapAgreement(one, one), 0);
    }
}

TEST(Agreement, BoxesMatchOneToOneWithTheirLabel) {
    const auto box = [](float x, int label) {
        Detection one;
        one.box = {x, 10, 100, 100};
        one.label = label;
        return one;
    };
    const std::vector<Detection> full{box(0, 1), box(200, 1), box(400, 2)};
    EXPECT_DOUBLE_EQ(boxAgreement(full, {box(400, 2), box(0, 1), box(200, 1)}), 1) << "in any order";
    EXPECT_DOUBLE_EQ(boxAgreement(full, {box(14, 1), box(215, 1), box(400, 3)}), 1. / 3)
        << "overlaps of 86/114 and 85/115, another label";
    EXPECT_DOUBLE_EQ(boxAgreement({box(0, 1)}, {box(0, 1), box(0, 1)}), .75) << "twice the same";
    EXPECT_DOUBLE_EQ(boxAgreement({box(0, 1), box(0, 1)}, {box(0, 1)}), .75);
    EXPECT_DOUBLE_EQ(boxAgreement({}, {}), 1);
    EXPECT_DOUBLE_EQ(boxAgreement(full, {}), 0);
    EXPECT_DOUBLE_EQ(boxAgreement({}, full), 0);
}

// A constant that all rows share must not increase the agreement, so the mean of the rows is subtracted. Each
// special row has a separate mean, over the images.
TEST(Agreement, RowsAreCentredOverImagesAndPositions) {
    const auto rowsOf = [](const cv::Mat& rows) { return TokenRows{rows, 1, rows.rows - 1}; };
    std::vector<cv::Mat> full, other;
    RowMeans means;
    for (int image = 0; image < 3; ++image) {
        full.push_back(noise(6, 4, image) + 100);
        full.back().row(0) += 1000;
        other.push_back(noise(6, 4, 10 + image) + 100);
        other.back().row(0) += 1000;
        means.add(rowsOf(full.back()));
    }
    cv::Mat special = cv::Mat::zeros(1, 4, CV_32F), shared = special.clone();
    for (const cv::Mat& one : full) {
        special += one.row(0) / 3;
        for (int row = 1; row < 6; ++row)
            shared += one.row(row) / 15;
    }
    double expected = 0;
    for (int row = 0; row < 6; ++row) {
        const cv::Mat mean = row == 0 ? special : shared;
        const cv::Mat a = full[1].row(row) - mean, b = other[1].row(row) - mean;
        expected += a.dot(b) / cv::norm(a) / cv::norm(b) / 6;
    }
    EXPECT_NEAR(means.agreement(rowsOf(full[1]), rowsOf(other[1])), expected, 1e-3);
    EXPECT_NEAR(means.agreement(rowsOf(full[1]), rowsOf(full[1])), 1, 1e-12);
    EXPECT_LT(expected, 0.9) << "the constant is gone";
}

TEST(Agreement, RowsThatDoNotDeviateCountAsEqual) {
    RowMeans means;
    const cv::Mat same(3, 4, CV_32F, cv::Scalar(2));
    means.add({same, 0, 3});
    EXPECT_DOUBLE_EQ(means.agreement({same, 0, 3}, {same.clone(), 0, 3}), 1);
    EXPECT_DOUBLE_EQ(means.agreement({same, 0, 3}, {same + 1, 0, 3}), 0);
}

TEST(Agreement, RowsThatAreNotFiniteDoNotMatch) {
    cv::Mat full = noise(4, 8, 1), other = noise(4, 8, 2);
    RowMeans clean, means;
    clean.add({full.rowRange(0, 3), 0, 3});
    full.at<float>(3, 5) = NAN;
    means.add({full, 0, 4});
    const double agreement = means.agreement({full, 0, 4}, {full, 0, 4});
    EXPECT_NEAR(agreement, .75, 1e-9) << "the others count";
    EXPECT_LT(means.agreement({full, 0, 4}, {other, 0, 4}), .75);
    EXPECT_TRUE(std::isfinite(means.agreement({other, 0, 4}, {full, 0, 4})));
}

TEST(Candidates, ScaleWithTheDepth) {
    for (const int blocks : {1, 2, 6, 12, 24, 40}) {
        const std::vector<Method> all = tuneCandidates(blocks, 884);
        ASSERT_FALSE(all.empty()) << blocks;
        for (const Method& method : all) {
            ASSERT_TRUE(method.blocks && !method.blocks->empty()) << method.text;
            EXPECT_LT(method.blocks->back(), blocks) << method.text;
            EXPECT_NO_THROW(checkMethods(methodsFrom(method.text))) << method.text;
        }
        if (blocks == 1) continue;
        EXPECT_EQ(all[0].name, "gentle");
        EXPECT_EQ(*all[0].blocks, usualBlocks("gentle", blocks));
    }
    EXPECT_TRUE(tuneCandidates(12, 1).empty());
}

TEST(Candidates, ToMeMergesAsMuchInAllAtAnyDepth) {
    for (const int blocks : {6, 12, 24, 40}) {
        std::vector<double> merged;
        for (const Method& method : tuneCandidates(blocks, 884))
            if (method.name.rfind("tome:r=", 0) == 0)
                merged.push_back(std::stoi(method.name.substr(7)) * blocks);
        ASSERT_EQ(merged.size(), 3u) << blocks;
        for (size_t i = 0; i < merged.size(); ++i)
            EXPECT_NEAR(merged[i], 884 * 12 * 0.025 * double(i + 1), blocks) << blocks << " blocks";
    }
}

/// Simulates times and agreements: each run of a method advances a clock.
class Planted {
public:
    struct Value {
        double speed, agreement;
    };

    explicit Planted(std::vector<Value> values) : m_values(std::move(values)) {
        for (size_t i = 0; i < m_values.size(); ++i)
            methods.push_back({"mpm:pairs=" + std::to_string(i + 1), std::vector<int>{1}, ""});
    }

    TuneWork work() {
        TuneWork work;
        work.full = [this](size_t image) {
            const bool first = m_image != image;
            m_image = image;
            return pass(first ? 100 * firstFull : 100);
        };
        work.trial = [this](const Method& method, size_t image) -> std::optional<Trial> {
            const size_t index = std::stoul(method.name.substr(method.name.find('=') + 1)) - 1;
            if (m_values[index].speed <= 0) return std::nullopt;
            ++trials;
            Trial trial;
            trial.ms = pass(100 / m_values[index].speed);
            trial.agreement = m_values[index].agreement + (image % 2 == 0 ? 0.0001 : -0.0001);
            trial.kept = 0.5;
            trial.tokens = {10, 5};
            return trial;
        };
        work.seconds = [this] { return m_seconds; };
        return work;
    }

    std::vector<Method> methods;
    int trials = 0;
    double firstFull = 1;  ///< factor for the time of an image's first run with all tokens
    double slower = 0;     ///< share by which runs become slower with each second

private:
    double pass(double ms) {
        const double taken = ms * (1 + slower * m_seconds);
        m_seconds += taken / 1000;
        return taken;
    }

    std::vector<Value> m_values;
    double m_seconds = 0;
    std::optional<size_t> m_image;
};

std::vector<Planted::Value> twenty(Planted::Value best, size_t place) {
    std::vector<Planted::Value> values;
    for (int i = 0; i < 20; ++i)
        values.push_back({1.05 + 0.04 * i, 0.999 - 0.004 * i});
    values[place] = best;
    return values;
}

TEST(Tune, FindsThePlantedBest) {
    for (const size_t place : {size_t{0}, size_t{7}, size_t{19}}) {
        Planted planted(twenty({1.9, 0.9955}, place));
        const TuneResult found = tune(planted.methods, 16, planted.work(), {0.995, {}}, 1000);
        ASSERT_TRUE(found.best) << place;
        EXPECT_EQ(*found.best, place);
        EXPECT_TRUE(found.complete);
        EXPECT_EQ(found.rows[place].images(), 16u);
        EXPECT_NEAR(found.rows[place].speed(), 1.9, 1e-9);
        EXPECT_NEAR(found.rows[place].worst(), 0.9954, 1e-9);
        EXPECT_LT(planted.trials, 20 * 16 / 2) << "not a full grid";
        Planted other(twenty({1.51, 0.9999}, place));
        EXPECT_EQ(*tune(other.methods, 16, other.work(), {{}, 1.5}, 1000).best, place);
    }
}

TEST(Tune, ASlowRunOfAllTokensFlattersNobody) {
    Planted planted({{1.5, 0.99}, {0.9, 0.999}, {1.2, 0.98}, {1.1, 0.97}});
    planted.firstFull = 1.4;
    const TuneResult found = tune(planted.methods, 16, planted.work(), {0.995, {}}, 1000);
    EXPECT_NEAR(found.fullMs, 100, 1e-9);
    EXPECT_NEAR(found.rows[0].speed(), 1.5, 1e-9);
    EXPECT_NEAR(found.ms(found.rows[0]), 100 / 1.5, 1e-9);
    EXPECT_FALSE(found.best) << "the other one is slower than all tokens";
}

TEST(Tune, AMachineThatSlowsDownDoesNotChoose) {
    const std::vector<Planted::Value> others = {{1.2, 0.9995}, {1.3, 0.9994}, {1.4, 0.9993}};
    for (const size_t best : {size_t{0}, size_t{4}}) {
        std::vector<Planted::Value> values(5, {1.5, 0.999});
        std::copy(others.begin(), others.end(), values.begin() + 1);
        values[best] = {1.52, 0.9985};
        Planted planted(values);
        planted.slower = 0.05;
        const TuneResult found = tune(planted.methods, 16, planted.work(), {0.995, {}}, 1000);
        EXPECT_EQ(found.best, best);
        EXPECT_NEAR(found.rows[best].speed(), 1.52, 0.01);
    }
}

TEST(Tune, PrintsThoseThatNoOtherBeats) {
    Planted planted({{1.5, 0.99}, {1.4, 0.98}, {1.2, 0.999}, {1.5, 0.97}});
    const TuneResult found = tune(planted.methods, 8, planted.work(), {0.995, {}}, 1000);
    EXPECT_EQ(found.front, (std::vector<size_t>{0, 2}));
    EXPECT_EQ(found.best, size_t{2});
}

TEST(Tune, WithoutACandidateAtTheGoalNamesTheNearest) {
    Planted planted({{1.5, 0.9}, {1.3, 0.95}, {1.1, 0.97}, {0, 0}});
    TuneResult found = tune(planted.methods, 8, planted.work(), {0.999, {}}, 1000);
    EXPECT_FALSE(found.best);
    EXPECT_EQ(found.nearest, size_t{2});
    EXPECT_EQ(found.rows[3].images(), 0u) << "the model cannot run it";
    found = tune(planted.methods, 8, planted.work(), {{}, 2.0}, 1000);
    EXPECT_FALSE(found.best);
    EXPECT_EQ(found.nearest, size_t{0});
    Planted slow({{0.9, 1.0}});
    EXPECT_FALSE(tune(slow.methods, 8, slow.work(), {0.99, {}}, 1000).best) << "slower than all tokens";
}

TEST(Tune, EndsInTimeAndAtASignal) {
    for (const double limit : {0.0, 0.5, 2.0, 5.0}) {
        Planted planted(twenty({1.9, 0.9955}, 3));
        const TuneWork work = planted.work();
        const TuneResult found = tune(planted.methods, 16, work, {0.995, {}}, limit);
        EXPECT_LE(work.seconds(), limit + 0.1 + 1e-9) << "one forward more at most";
        EXPECT_FALSE(found.complete);
        EXPECT_EQ(found.best.has_value(), limit > 0) << limit;
    }
    Planted planted(twenty({1.9, 0.9955}, 3));
    Watcher watcher;
    watcher.stopRequested = [&] { return planted.trials >= 50; };
    const TuneResult found = tune(planted.methods, 16, planted.work(), {0.995, {}}, 1000, watcher);
    EXPECT_TRUE(found.stopped);
    EXPECT_EQ(planted.trials, 50);
    EXPECT_EQ(found.best, size_t{3}) << "the best so far";
}

TEST(ImagePicker, SpreadsOverASourceOfAnyLength) {
    const auto numbered = [](int number) {
        cv::Mat image(4, 4, CV_8UC3, cv::Scalar::all(0));
        image.at<cv::Vec3b>(0, 0) =
            cv::Vec3b(static_cast<uchar>(number % 256), static_cast<uchar>(number / 256), 255);
        return image;
    };
    for (const int count : {1, 5, 16, 17, 31, 32, 1000}) {
        ImagePicker picker(16);
        for (int i = 0; i < count; ++i)
            picker.add(numbered(i));
        picker.add(cv::Mat(4, 4, CV_8UC3, cv::Scalar(0, 0, 0)));
        EXPECT_EQ(picker.blank(), 1);
        EXPECT_EQ(picker.seen(), count + 1);
        std::vector<int> numbers;
        for (const cv::Mat& image : picker.images())
            numbers.push_back(image.at<cv::Vec3b>(0, 0)[0] + 256 * image.at<cv::Vec3b>(0, 0)[1]);
        EXPECT_EQ(numbers.size(), static_cast<size_t>(std::min(count, 16)));
        std::vector<int> sorted = numbers;
        std::sort(sorted.begin(), sorted.end());
        EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end()) << count;
        if (count < 16) continue;
        EXPECT_LE(sorted.front(), count / 8);
        EXPECT_GE(sorted.back(), count - 1 - count / 4);
        EXPECT_GE(std::abs(numbers[0] - numbers[1]), count / 4) << "the first two are apart, too";
    }
}

class TuneModel : public testing::Test {
protected:
    static RandomModel small() {
        RandomModel random;
        random.size = {64, 64};
        random.dim = 64, random.depth = 3, random.heads = 1, random.classes = 3;
        return random;
    }

    static std::vector<cv::Mat> eightImages() {
        std::vector<cv::Mat> images;
        for (int i = 0; i < 8; ++i) {
            cv::Mat image;
            cv::Mat(noise(64, 64 * 3, i) * 50 + 128).convertTo(image, CV_8U);
            images.push_back(image.reshape(3));
        }
        return images;
    }

    Network network{small()};
    std::vector<cv::Mat> images = eightImages();
};

TEST_F(TuneModel, RunsOnAModelOfClasses) {
    const ModelTuning tuning = tuneModel(network, images, {{}, 1.0}, 60);
    EXPECT_EQ(tuning.kind, AgreementKind::Labels);
    EXPECT_EQ(tuning.images, 8u);
    ASSERT_FALSE(tuning.result.front.empty());
    for (const TuneRow& row : tuning.result.rows)
        for (const double agreement : row.agreements)
            EXPECT_TRUE(agreement >= 0 && agreement <= 1) << row.method.text;
    images.resize(7);
    EXPECT_THROW(tuneModel(network, images, {0.99, {}}, 60), MeasureError);
}

TEST_F(TuneModel, EndsInTimeBeforeAllReferences) {
    int asked = 0;
    Watcher watcher;
    watcher.stopRequested = [&] { return ++asked > 100; };
    EXPECT_THROW(tuneModel(network, images, {0.99, {}}, 1e-9, watcher), MeasureError);
    EXPECT_LE(asked, 3) << "it is asked before each reference";
}

// The search is stopped while images are read, before the first reference, and between references. The
// message must not blame the images.
TEST_F(TuneModel, StoppedBeforeAnythingWasComparedIsNoFaultOfTheImages) {
    for (const auto& [count, answers] : {std::pair<size_t, int>{2, 0}, {8, 1}, {8, 3}}) {
        images = eightImages();
        images.resize(count);
        int asked = 0;
        Watcher watcher;
        watcher.stopRequested = [&, most = answers] { return ++asked > most; };
        try {
            tuneModel(network, images, {0.99, {}}, 60, watcher);
            ADD_FAILURE() << count << " images, stopped at question " << answers + 1;
        } catch (const MeasureError& error) {
            EXPECT_EQ(error.kind(), MeasureError::Kind::Failed) << error.what();
            EXPECT_NE(std::string(error.what()).find("stopped before anything was compared"),
                      std::string::npos)
                << error.what();
        }
    }
}

}  // namespace
}  // namespace mpm::pipeline
