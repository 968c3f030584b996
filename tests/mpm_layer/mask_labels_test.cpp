// Compares MpmMaskLabels with the formula in f64.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <opencv2/core/utility.hpp>
#include <opencv2/dnn/layer.details.hpp>

#include <mpm/mpm.hpp>

#include "support/onnx_model.hpp"
#include "support/random.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {
namespace {

struct Problem {
    int images, queries, classes, rows, columns, outRows, outColumns;
};

struct Inputs {
    cv::Mat masks, logits;
};

Inputs inputsOf(const Problem& p, unsigned seed) {
    const int masks[] = {p.images, p.queries, p.rows, p.columns};
    const int logits[] = {p.images, p.queries, p.classes + 1};
    return {randomMatrix(p.images * p.queries * p.rows, p.columns, seed, 3.0).reshape(1, 4, masks),
            randomMatrix(p.images * p.queries, p.classes + 1, seed + 1, 2.0).reshape(1, 3, logits)};
}

struct Labels {
    cv::Mat labels, scores;  // CV_32F
};

Labels run(const Problem& p, const Inputs& in, bool sigmoidFirst, bool withScores = true) {
    registerLayers();
    OnnxModel model;
    model.input("masks", {p.images, p.queries, p.rows, p.columns});
    model.input("classes", {p.images, p.queries, p.classes + 1});
    std::vector<std::string> outputs = {"labels"};
    if (withScores) outputs.push_back("scores");
    model.node("MpmMaskLabels", {"masks", "classes"}, outputs, "mpm");
    model.ints("size", {p.outRows, p.outColumns});
    if (sigmoidFirst) model.attribute("sigmoid_first", 1);
    model.output("labels", {p.images, 1, p.outRows, p.outColumns}, CV_VERSION_MAJOR >= 5);
    if (withScores) model.output("scores", {p.images, 1, p.outRows, p.outColumns});
    TempFolder folder;
    model.write(folder / "labels.onnx");
    cv::dnn::Net net = cv::dnn::readNetFromONNX(folder / "labels.onnx");
    net.setInput(in.masks, "masks");
    net.setInput(in.logits, "classes");
    std::vector<cv::Mat> out;
    net.forward(out, std::vector<cv::String>(outputs.begin(), outputs.end()));
    Labels result;
    out[0].convertTo(result.labels, CV_32F);
    if (withScores) result.scores = out[1].clone();
    return result;
}

double position(int k, int from, int to) {
    return std::min(std::max((k + 0.5) * from / to - 0.5, 0.0), from - 1.0);
}

// Interpolates a plane of p.rows x p.columns at the place (x, y); value(y, x) returns an element.
template <class Value>
double sample(const Problem& p, double y, double x, const Value& value) {
    const int y0 = static_cast<int>(y), x0 = static_cast<int>(x);
    const int y1 = std::min(y0 + 1, p.rows - 1), x1 = std::min(x0 + 1, p.columns - 1);
    const double fy = y - y0, fx = x - x0;
    return (1 - fy) * ((1 - fx) * value(y0, x0) + fx * value(y0, x1)) +
           fy * ((1 - fx) * value(y1, x0) + fx * value(y1, x1));
}

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

/// Returns the class probabilities of an image's queries: [classes][queries].
std::vector<std::vector<double>> probabilities(const Problem& p, const Inputs& in, int image) {
    std::vector<std::vector<double>> all(p.classes + 1, std::vector<double>(p.queries));
    for (int q = 0; q < p.queries; ++q) {
        const float* logits = in.logits.ptr<float>(image) + q * (p.classes + 1);
        double sum = 0;
        for (int c = 0; c <= p.classes; ++c)
            sum += all[c][q] = std::exp(static_cast<double>(logits[c]));
        for (int c = 0; c <= p.classes; ++c)
            all[c][q] /= sum;
    }
    all.pop_back();
    return all;
}

std::vector<double> plainScores(const Problem& p, const cv::Mat& masks, bool sigmoidFirst,
                                const std::vector<std::vector<double>>& classes, int image, int pixel) {
    const double y = position(pixel / p.outColumns, p.rows, p.outRows),
                 x = position(pixel % p.outColumns, p.columns, p.outColumns);
    std::vector<double> scores(p.classes, 0.0);
    for (int q = 0; q < p.queries; ++q) {
        const float* mask = masks.ptr<float>(image) + q * p.rows * p.columns;
        const double here = sample(p, y, x, [&](int r, int c) {
            const double value = mask[r * p.columns + c];
            return sigmoidFirst ? sigmoid(value) : value;
        });
        for (int c = 0; c < p.classes; ++c)
            scores[c] += classes[c][q] * (sigmoidFirst ? here : sigmoid(here));
    }
    return scores;
}

void expectPlain(const Problem& p, bool sigmoidFirst, unsigned seed) {
    const Inputs in = inputsOf(p, seed);
    const Labels out = run(p, in, sigmoidFirst);
    int decided = 0;
    for (int i = 0; i < p.images; ++i) {
        const std::vector<std::vector<double>> classes = probabilities(p, in, i);
        for (int k = 0; k < p.outRows * p.outColumns; ++k) {
            const std::vector<double> scores = plainScores(p, in.masks, sigmoidFirst, classes, i, k);
            const auto best = std::max_element(scores.begin(), scores.end());
            double second = -1;
            for (auto s = scores.begin(); s != scores.end(); ++s)
                if (s != best) second = std::max(second, *s);
            ASSERT_NEAR(out.scores.ptr<float>(i)[k], *best, 1e-5 * std::max(1.0, *best));
            if (*best - second < 1e-5) continue;
            ++decided;
            ASSERT_EQ(out.labels.ptr<float>(i)[k], static_cast<float>(best - scores.begin()))
                << "image " << i << " pixel " << k;
        }
    }
    EXPECT_GT(decided, p.images * p.outRows * p.outColumns / 2);
}

const Problem kProblems[] = {{1, 5, 3, 4, 6, 16, 24},      {2, 20, 7, 8, 10, 37, 61}, {1, 1, 1, 3, 3, 9, 7},
                             {1, 100, 150, 9, 9, 70, 135}, {3, 7, 2, 6, 5, 6, 5},     {1, 4, 5, 12, 13, 5, 3},
                             {1, 3, 4, 1, 1, 6, 5},        {1, 13, 33, 5, 1, 1, 300}};

TEST(MaskLabels, EqualThePlainFormula) {
    unsigned seed = 0;
    for (const Problem& p : kProblems) {
        SCOPED_TRACE(++seed);
        expectPlain(p, false, seed);
        expectPlain(p, true, seed);
    }
}

TEST(MaskLabels, TheSecondOutputMayBeLeftUnconnected) {
    const Problem p = kProblems[1];
    const Inputs in = inputsOf(p, 4);
    EXPECT_TRUE(sameBits(run(p, in, false, false).labels, run(p, in, false).labels));
}

TEST(MaskLabels, LowestClassWinsTies) {
    const Problem p{1, 2, 5, 3, 3, 7, 9};
    Inputs in = inputsOf(p, 5);
    for (int q = 0; q < 2; ++q) {
        const float logits[] = {0, 3, 3, 1, 3, 2};
        std::copy_n(logits, 6, in.logits.ptr<float>() + 6 * q);
    }
    for (bool sigmoidFirst : {false, true})
        EXPECT_EQ(cv::norm(run(p, in, sigmoidFirst).labels.reshape(1, 1), cv::Mat(1, 63, CV_32F, 1.0),
                           cv::NORM_INF),
                  0);
}

TEST(MaskLabels, LogitsOfAnySizeGiveProbabilities) {
    const Problem p{1, 2, 3, 2, 2, 4, 4};
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    Inputs in = inputsOf(p, 5);
    const float logits[] = {-1e30f, 3e38f, -kInfinity, 0, 1e4f, -1e4f, 0, -kInfinity};
    std::copy_n(logits, 8, in.logits.ptr<float>());
    std::fill_n(in.masks.ptr<float>(), 4, 1e30f);  // query 0 covers all pixels
    std::fill_n(in.masks.ptr<float>() + 4, 4, std::numeric_limits<float>::quiet_NaN());  // query 1: no pixel
    for (bool sigmoidFirst : {false, true}) {
        const Labels out = run(p, in, sigmoidFirst);
        for (int k = 0; k < 16; ++k) {
            EXPECT_EQ(out.labels.ptr<float>()[k], 1.0f);
            EXPECT_EQ(out.scores.ptr<float>()[k], 1.0f);
        }
    }
}

TEST(MaskLabels, SameBitsForAnyThreadCountAndBatch) {
    const Problem p{3, 30, 20, 12, 16, 150, 200};
    const Inputs in = inputsOf(p, 9);
    const int threads = cv::getNumThreads();
    for (bool sigmoidFirst : {false, true}) {
        const Labels expected = run(p, in, sigmoidFirst);
        for (int count : {1, 3}) {
            cv::setNumThreads(count);
            const Labels out = run(p, in, sigmoidFirst);
            EXPECT_TRUE(sameBits(out.labels, expected.labels));
            EXPECT_TRUE(sameBits(out.scores, expected.scores));
        }
        cv::setNumThreads(threads);
    }
}

// Returns the value of a key of /proc/self/status in KiB: VmHWM is the peak of resident memory, VmRSS the
// current value.
long memory(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        long value = 0;
        if (word == key + ":" && status >> value) return value;
    }
    return 0;
}

TEST(MaskLabels, TakeLittleMemory) {
    registerLayers();
    const Problem p{1, 200, 151, 160, 160, 640, 640};
    const Inputs in = inputsOf(p, 3);
    const int size[] = {p.outRows, p.outColumns}, sizes[] = {1, 1, p.outRows, p.outColumns};
    std::vector<cv::Mat> inputs = {in.masks, in.logits}, none;
    std::vector<cv::Mat> outputs = {cv::Mat(4, sizes, CV_32F, cv::Scalar(0))};
    for (int sigmoidFirst : {0, 1}) {
        SCOPED_TRACE(sigmoidFirst);
        cv::dnn::LayerParams params;
        params.type = "mpm.MpmMaskLabels";
        params.set("size", cv::dnn::DictValue::arrayInt(size, 2));
        params.set("sigmoid_first", sigmoidFirst);
        const auto layer = cv::dnn::LayerFactory::createLayerInstance(params.type, params);
        std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak
        const long before = memory("VmRSS");
        layer->forward(inputs, outputs, none);
        if (memory("VmHWM") < before) GTEST_SKIP() << "this system does not count memory";
        EXPECT_LT(memory("VmHWM") - before, 32 * 1024);
    }
}

}  // namespace
}  // namespace mpm::test
