// Compares MpmResize with scalar loops: resized scores, and labels that are computed without storing scores.
#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include <mpm/mpm.hpp>

#include "support/onnx_model.hpp"
#include "support/random.hpp"
#include "support/temp_folder.hpp"

namespace mpm::test {
namespace {

struct Shape {
    int images, classes, rows, columns, outRows, outColumns;
};

const float* rowOf(const cv::Mat& m, int image, int c, int row) {
    const int at[] = {image, c, row, 0};
    return m.ptr<float>(at);
}

cv::Mat scores(const Shape& s, unsigned seed) {
    const int sizes[] = {s.images, s.classes, s.rows, s.columns};
    return randomMatrix(s.images * s.classes * s.rows, s.columns, seed).reshape(1, 4, sizes);
}

cv::Mat run(const Shape& s, bool argmax, bool alignCorners, const cv::Mat& input, cv::Size crop = {}) {
    registerLayers();
    OnnxModel model;
    model.input("scores", {s.images, s.classes, s.rows, s.columns});
    model.node("MpmResize", {"scores"}, {"out"}, "mpm").ints("size", {s.outRows, s.outColumns});
    if (argmax) model.attribute("argmax", 1);
    if (alignCorners) model.attribute("align_corners", 1);
    if (!crop.empty()) model.ints("crop", {crop.height, crop.width});
    const cv::Size whole = crop.empty() ? cv::Size(s.outColumns, s.outRows) : crop;
    model.output("out", {s.images, argmax ? 1 : s.classes, whole.height, whole.width},
                 argmax && CV_VERSION_MAJOR >= 5);
    TempFolder folder;
    model.write(folder / "resize.onnx");
    cv::dnn::Net net = cv::dnn::readNetFromONNX(folder / "resize.onnx");
    net.setInput(input);
    cv::Mat out, floats;
    out = net.forward();
    out.convertTo(floats, CV_32F);
    return floats;
}

/// If both samples are the same infinity, or an infinite second sample has weight 0, the result must not be
/// NaN.
TEST(Resize, InfiniteScoresStay) {
    const float inf = std::numeric_limits<float>::infinity();
    const Shape same{1, 1, 1, 3, 1, 3}, wider{1, 1, 1, 2, 1, 8}, taller{1, 1, 2, 1, 8, 1};
    const auto blob = [](const Shape& s, std::vector<float> values) {
        const int sizes[] = {s.images, s.classes, s.rows, s.columns};
        return cv::Mat(values, true).reshape(1, 4, sizes);
    };
    const cv::Mat kept = run(same, false, false, blob(same, {1, inf, 2}));
    EXPECT_EQ(std::vector<float>(kept.ptr<float>(), kept.ptr<float>() + 3), (std::vector<float>{1, inf, 2}));
    for (const Shape& shape : {wider, taller}) {
        const cv::Mat out = run(shape, false, false, blob(shape, {-inf, -inf}));
        for (int k = 0; k < 8; ++k)
            EXPECT_EQ(out.ptr<float>()[k], -inf) << k;
    }
}

TEST(Resize, LabelsBetweenInfiniteScores) {
    const float inf = std::numeric_limits<float>::infinity();
    const int sizes[] = {1, 2, 1, 2};
    const cv::Mat in = cv::Mat(std::vector<float>{inf, inf, 1, 1}, true).reshape(1, 4, sizes);
    const cv::Mat out = run({1, 2, 1, 2, 1, 40}, true, false, in);
    EXPECT_EQ(cv::countNonZero(out.reshape(1, 1)), 0) << "class 0 everywhere";
}

// The result is infinite if and only if an infinite sample has a weight above 0.
TEST(Resize, InfiniteScoresReachWhatTheyWeigh) {
    const float inf = std::numeric_limits<float>::infinity();
    for (const int to : {6, 40}) {  // with 40, all pixels of a vector may be between the same two samples
        for (const bool down : {false, true}) {
            for (const auto& [first, last] :
                 {std::pair(5.f, -inf), {-inf, 5.f}, {inf, 1.f}, {1.f, inf}, {inf, -inf}}) {
                const Shape shape = down ? Shape{1, 1, 2, 1, to, 1} : Shape{1, 1, 1, 2, 1, to};
                const int sizes[] = {1, 1, shape.rows, shape.columns};
                const cv::Mat in = cv::Mat(std::vector<float>{first, last}, true).reshape(1, 4, sizes);
                const cv::Mat out = run(shape, false, false, in);
                for (int k = 0; k < to; ++k) {
                    const double at = std::clamp((k + 0.5) * 2 / to - 0.5, 0.0, 1.0);
                    const float got = out.ptr<float>()[k];
                    if (at == 0 || at == 1) {
                        EXPECT_EQ(got, at == 0 ? first : last) << k;
                    } else if (first == -last) {
                        EXPECT_TRUE(std::isnan(got)) << k;
                    } else {
                        EXPECT_EQ(got, std::isinf(first) ? first : last) << k;
                    }
                }
            }
        }
    }
}

double position(int k, int from, int to, bool alignCorners) {
    const double at =
        alignCorners ? (to > 1 ? k * (from - 1.0) / (to - 1.0) : 0.0) : (k + 0.5) * from / to - 0.5;
    return std::min(std::max(at, 0.0), from - 1.0);
}

double sample(const cv::Mat& in, int image, int c, double y, double x) {
    const int y0 = static_cast<int>(y), x0 = static_cast<int>(x);
    const int y1 = std::min(y0 + 1, in.size[2] - 1), x1 = std::min(x0 + 1, in.size[3] - 1);
    const auto at = [&](int r, int k) { return static_cast<double>(rowOf(in, image, c, r)[k]); };
    const double top = at(y0, x0) + (x - x0) * (at(y0, x1) - at(y0, x0));
    const double bottom = at(y1, x0) + (x - x0) * (at(y1, x1) - at(y1, x0));
    return top + (y - y0) * (bottom - top);
}

const Shape kShapes[] = {{1, 3, 4, 5, 64, 80}, {2, 11, 8, 10, 37, 61}, {1, 1, 3, 3, 9, 7}, {1, 7, 5, 4, 5, 4},
                         {1, 5, 6, 6, 3, 2},   {1, 150, 2, 2, 33, 31}, {1, 4, 1, 1, 6, 5}};

TEST(Resize, ScoresEqualScalarLoops) {
    for (const Shape& s : kShapes) {
        for (bool align : {false, true}) {
            const cv::Mat in = scores(s, 3), out = run(s, false, align, in);
            for (int b = 0; b < s.images; ++b) {
                for (int c = 0; c < s.classes; ++c) {
                    for (int y = 0; y < s.outRows; ++y) {
                        for (int x = 0; x < s.outColumns; ++x) {
                            const double wanted = sample(in, b, c, position(y, s.rows, s.outRows, align),
                                                         position(x, s.columns, s.outColumns, align));
                            ASSERT_NEAR(rowOf(out, b, c, y)[x], wanted, 1e-5);
                        }
                    }
                }
            }
        }
    }
}

TEST(Resize, LabelsAreTheLargestScore) {
    for (const Shape& s : kShapes) {
        const cv::Mat in = scores(s, 4), all = run(s, false, false, in), labels = run(s, true, false, in);
        for (int b = 0; b < s.images; ++b) {
            for (int y = 0; y < s.outRows; ++y) {
                for (int x = 0; x < s.outColumns; ++x) {
                    const int label = static_cast<int>(rowOf(labels, b, 0, y)[x]);
                    ASSERT_GE(label, 0);
                    ASSERT_LT(label, s.classes);
                    for (int c = 0; c < s.classes; ++c) {
                        ASSERT_GE(rowOf(all, b, label, y)[x], rowOf(all, b, c, y)[x] - 1e-5f);
                    }
                }
            }
        }
    }
}

// A crop equals the top left corner of the whole resized image, with fewer rows, columns or both.
TEST(Resize, CropIsTheCornerOfEveryImage) {
    for (const Shape& s : {Shape{3, 4, 5, 6, 40, 50}, Shape{1, 2, 3, 3, 17, 9}}) {
        const cv::Mat in = scores(s, 6);
        for (const cv::Size& crop : {cv::Size(s.outColumns, 1), cv::Size(s.outColumns, s.outRows - 5),
                                     cv::Size(7, s.outRows), cv::Size(s.outColumns - 1, s.outRows / 2)}) {
            for (bool argmax : {false, true}) {
                const cv::Mat whole = run(s, argmax, false, in), out = run(s, argmax, false, in, crop);
                ASSERT_EQ(out.size[2], crop.height);
                ASSERT_EQ(out.size[3], crop.width);
                for (int k = 0; k < s.images * (argmax ? 1 : s.classes) * crop.height; ++k) {
                    const int plane = k / crop.height, image = plane / out.size[1], c = plane % out.size[1];
                    const float* wanted = rowOf(whole, image, c, k % crop.height);
                    ASSERT_TRUE(
                        std::equal(wanted, wanted + crop.width, rowOf(out, image, c, k % crop.height)))
                        << crop << " image " << image << " class " << c << " row " << k % crop.height;
                }
            }
        }
    }
}

TEST(Resize, LowestClassWinsTiesAndNaNNever) {
    const Shape s{1, 3, 2, 2, 8, 8};
    cv::Mat in = scores(s, 5);
    in.setTo(1.0);
    EXPECT_EQ(cv::norm(run(s, true, false, in), cv::NORM_INF), 0);
    std::fill_n(in.ptr<float>(), 4, std::numeric_limits<float>::quiet_NaN());
    const cv::Mat labels = run(s, true, false, in);
    for (int y = 0; y < 8; ++y) {
        for (int x = 0; x < 8; ++x)
            EXPECT_EQ(rowOf(labels, 0, 0, y)[x], 1.0f);
    }
}

}  // namespace
}  // namespace mpm::test
