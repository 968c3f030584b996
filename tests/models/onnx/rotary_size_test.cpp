// Converts exports with rotary tables for another size, and compares with exports of the network at that
// size.
#include <cmath>

#include <gtest/gtest.h>
#include <opencv2/dnn.hpp>

#include <mpm/mpm.hpp>

#include "models/onnx/convert.hpp"
#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/fused/insert.hpp"
#include "models/onnx/io/read.hpp"
#include "models/onnx/io/write.hpp"
#include "rotary_export.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mpm;
using namespace mpm::test::rotary;
using models::List;
using models::PatchGrid;
using models::Rope;
using models::Shape;
using models::Tensor;
using test::SmallExport;

std::string build(const test::TempFolder& folder, const std::string& name, const List<Rotary>& byBlock,
                  cv::Size grid, const Edit& edit = {}) {
    models::writeModel(rotaryExport(byBlock, grid, edit), folder / name);
    return folder / name;
}

cv::Mat evaluatedAt(const std::string& path, cv::Size grid) {
    const cv::Mat image = SmallExport::image(1, grid);
    Tensor x = Tensor::floats({1, image.size[1], image.size[2], image.size[3]});
    std::copy_n(image.ptr<float>(), image.total(), x.writeF().data());
    const Tensor y = models::evaluate(models::readModel(path), {x})[0];
    return cv::Mat(1, static_cast<int>(y.size()), CV_32F, const_cast<float*>(y.f().data())).clone();
}

struct Forward {
    cv::Mat output;
    Report report;
};

Forward forwardAt(const std::string& path, cv::Size grid, const std::vector<int>& schedule) {
    registerLayers();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
    encoder(net).setSchedule(schedule);
    net.setInput(SmallExport::image(1, grid));
    const cv::Mat output = net.forward().clone();
    return {output.reshape(1, 1), encoder(net).report()};
}

models::Conversion convertTo(const std::string& from, const std::string& to, cv::Size grid) {
    models::ConvertOptions options;
    options.size = grid * SmallExport::kPatch;
    options.blocks = std::vector<int>{1, 3};
    return models::convertModel(from, to, options);
}

double distance(const cv::Mat& a, const cv::Mat& b) {
    EXPECT_EQ(a.total(), b.total());
    return a.total() == b.total() ? cv::norm(a, b, cv::NORM_INF) / cv::norm(b, cv::NORM_INF) : 1;
}

models::Conversion expectFollows(const List<Rotary>& byBlock, cv::Size from, cv::Size to) {
    SCOPED_TRACE(cv::format("%s, %dx%d to %dx%d", byBlock[0].name.c_str(), from.height, from.width, to.height,
                            to.width));
    const test::TempFolder folder;
    const std::string there = build(folder, "there.onnx", byBlock, to);
    const models::Conversion conversion =
        convertTo(build(folder, "export.onnx", byBlock, from), folder / "resized.onnx", to);
    const cv::Mat expected = evaluatedAt(there, to);
    EXPECT_LT(distance(forwardAt(folder / "resized.onnx", to, {}).output, expected), 1e-4);
    convertTo(there, folder / "own.onnx", to);
    const Forward merged = forwardAt(folder / "resized.onnx", to, {1, 3}),
                  own = forwardAt(folder / "own.onnx", to, {1, 3});
    EXPECT_LT(distance(merged.output, own.output), 1e-4);
    EXPECT_EQ(cv::norm(merged.report.images[0].map, own.report.images[0].map, cv::NORM_INF), 0);
    EXPECT_LT(merged.report.images[0].tokens.back(), to.area());
    return conversion;
}

std::string reasonAgainst(const List<Rotary>& byBlock, cv::Size from, cv::Size to, const Edit& edit = {}) {
    const test::TempFolder folder;
    const std::string path = build(folder, "export.onnx", byBlock, from, edit);
    models::convertModel(path, folder / "own.onnx", {});  // must convert without --size
    try {
        convertTo(path, folder / "resized.onnx", to);
    } catch (const models::Refusal& refusal) {
        return refusal.what();
    }
    return "converted";
}

const Rotary kDinov3{"DINOv3", byOwnAxis, kTurn, 100, false};
const Rotary kEva02{"EVA-02", scaledTo(16)};
const Rotary kPerception{"Perception Encoder", byIndexFromOne, 1, 10000, true, true, true};

// Sizes in columns x rows.
const cv::Size kWide{8, 6}, kSquare{6, 6}, kOthers[] = {{10, 9}, {7, 7}, {4, 5}, {6, 8}};

TEST(RotarySize, DINOv3) {
    for (const cv::Size& to : kOthers) {
        for (const bool columnsFirst : {false, true}) {
            Rotary r = kDinov3;
            r.columnsFirst = columnsFirst;
            EXPECT_TRUE(expectFollows({r}, kWide, to).notes.empty());
            r.interleaved = r.withSpecial = true;
            expectFollows({r}, kWide, to);
        }
    }
    // With so few rows, the first angle grows by at least half a turn per row, so its frequency is ambiguous.
    expectFollows({kDinov3}, {8, 4}, kWide);
    expectFollows({kDinov3}, {5, 3}, kWide);
}

// Nodes compute the tables from the image's shape. The shape is constant, so the tables are constant too.
TEST(RotarySize, TablesComputedFromTheShapeOfTheImage) {
    Rotary r = kDinov3;
    r.inGraph = true;
    for (const cv::Size& to : kOthers)
        expectFollows({r}, kWide, to);
}

TEST(RotarySize, OneAxisNormalisesBoth) {
    for (const Coordinate& coordinate : {Coordinate(byLongerAxis), Coordinate(byShorterAxis)}) {
        Rotary r = kDinov3;
        r.coordinate = coordinate;
        for (const cv::Size& to : kOthers)
            expectFollows({r}, kWide, to);
        expectFollows({r}, {6, 8}, {9, 5});
    }
}

// On a square grid, all normalisations give the same table, so the formula is uncertain. Therefore, a
// conversion to a grid that is not square adds a note.
TEST(RotarySize, SquareGridOfDINOv3) {
    EXPECT_TRUE(expectFollows({kDinov3}, kSquare, {9, 9}).notes.empty());
    const models::Conversion conversion = expectFollows({kDinov3}, kSquare, {10, 7});
    ASSERT_EQ(conversion.notes.size(), 1u);
    EXPECT_NE(conversion.notes[0].find("square grid does not show"), std::string::npos);
}

TEST(RotarySize, ScaledToAReference) {
    for (const cv::Size& from : {kWide, kSquare}) {
        for (const cv::Size& to : kOthers) {
            expectFollows({kEva02}, from, to);
            expectFollows({{"timm's PE", scaledTo(14, 1), 1, 10000, true, true}}, from, to);
            expectFollows({{"smaller", scaledTo(4), 1, 100, false}}, from, to);
        }
    }
    // The angles of adjacent tokens differ by more than half a turn.
    expectFollows({{"larger", scaledTo(32)}}, kWide, {10, 9});
    // The export has as many columns as the reference grid.
    expectFollows({{"as wide", scaledTo(8)}}, kWide, {10, 9});
}

TEST(RotarySize, Indices) {
    for (const cv::Size& to : kOthers) {
        expectFollows({kPerception}, kWide, to);
        expectFollows({{"index", byIndex, 1, 100, false}}, kWide, to);
    }
}

TEST(RotarySize, TablesOfEachBlock) {
    Rotary other = kDinov3;
    other.base = 1000;
    other.sign = -1;
    expectFollows({kDinov3, other}, kWide, {10, 9});
}

// DINOv3's checkpoints have periods rounded to bf16. The resized tables must use the rounded values.
TEST(RotarySize, RoundedPeriods) {
    Rotary r = kDinov3;
    r.roundPeriod = [](float period) {
        int exponent = 0;
        const float mantissa = std::frexp(period * kTurn, &exponent);
        return std::ldexp(std::round(mantissa * 256) / 256, exponent) / kTurn;
    };
    expectFollows({r}, kWide, {16, 12});
}

TEST(RotarySize, AmbiguousTablesAreRejected) {
    for (const Rotary& r : {Rotary{"reference", scaledTo(6)}, Rotary{"index", byIndex}}) {
        const std::string reason = reasonAgainst({r}, kSquare, {8, 8});
        EXPECT_NE(reason.find("two formulas give the same tables"), std::string::npos) << reason;
        EXPECT_NE(reason.find("scaled to a grid of 6x6"), std::string::npos) << reason;
    }
    // Two formulas explain the table, and give different tables for the new size.
    EXPECT_NE(reasonAgainst({kPerception}, kSquare, {8, 8}).find("two formulas"), std::string::npos);
}

void expectUnknown(const std::string& reason) {
    EXPECT_NE(reason.find("rotary positions are baked into the export"), std::string::npos) << reason;
    EXPECT_NE(reason.find("no known formula"), std::string::npos) << reason;
    EXPECT_NE(reason.find("export the model at that size"), std::string::npos) << reason;
}

TEST(RotarySize, OtherTablesAreRejected) {
    const Edit random = [](Tensor& cos, Tensor& sin) {
        cv::RNG rng(3);
        const int half = kHeadSize / 2;
        for (int64_t k = 0; k < cos.size(); ++k) {
            if (k % kHeadSize >= half) continue;
            const float angle = rng.uniform(-3.f, 3.f);
            cos.writeF()[k] = cos.writeF()[k + half] = std::cos(angle);
            sin.writeF()[k] = sin.writeF()[k + half] = std::sin(angle);
        }
    };
    expectUnknown(reasonAgainst({kDinov3}, kWide, {10, 9}, random));
    for (const Rotary& r : {kDinov3, kEva02, kPerception}) {
        for (const int64_t at : {kHeadSize + 1, 17 * kHeadSize + 3, 48 * kHeadSize - 1}) {
            for (const bool sine : {false, true}) {
                const Edit altered = [&](Tensor& cos, Tensor& sin) {
                    (sine ? sin : cos).writeF()[at] += 5e-5f;
                };
                expectUnknown(reasonAgainst({r}, kWide, {10, 9}, altered));
            }
        }
    }
    expectUnknown(reasonAgainst({{"other frequencies", byIndex, 0.9f}}, kWide, {10, 9}));
    expectUnknown(reasonAgainst({{"other reference", scaledTo(16), 1.01f}}, kWide, {10, 9}));
    expectUnknown(reasonAgainst({{"other period", byOwnAxis, kTurn / 2, 100}}, kWide, {10, 9}));
    const Coordinate warped = [](int i, int, int) { return std::sqrt(static_cast<float>(i)); };
    expectUnknown(reasonAgainst({{"no even steps", warped}}, kWide, {10, 9}));
}

// RoPE-Mixed learns a frequency for each channel and axis, so an angle depends on row and column. Such tables
// are rejected.
TEST(RotarySize, AnglesAlongBothAxesAreRejected) {
    const Edit mixed = [](Tensor& cos, Tensor& sin) {
        for (int64_t t = 0; t < kWide.area(); ++t) {
            const float angle =
                0.3f * static_cast<float>(t / kWide.width) + static_cast<float>(t % kWide.width);
            for (int c : {0, kHeadSize / 2}) {
                cos.writeF()[t * kHeadSize + c] = std::cos(angle);
                sin.writeF()[t * kHeadSize + c] = std::sin(angle);
            }
        }
    };
    expectUnknown(reasonAgainst({{"mixed", byIndex, 1, 100, false}}, kWide, {10, 9}, mixed));
}

PatchGrid gridOf(cv::Size size) {
    return {size.height, size.width};
}

double distance(const Rope& a, const Rope& b) {
    double most = 0;
    for (int64_t k = 0; k < a.cos.size(); ++k) {
        most = std::max({most, std::abs(double{a.cos.f()[k]} - b.cos.f()[k]),
                         std::abs(double{a.sin.f()[k]} - b.sin.f()[k])});
    }
    return most;
}

TEST(RotarySize, TablesInHalfPrecision) {
    const auto half = [](float value) {
        if (value == 0) return value;
        const float unit = std::ldexp(1.f, std::max(std::ilogb(value), -14) - 10);
        return std::round(value / unit) * unit;
    };
    for (const Rotary& r : {kDinov3, kEva02, kPerception}) {
        SCOPED_TRACE(r.name);
        Rotary rounded = r;
        rounded.roundTable = half;
        const Rope resized = models::resizedRope(ropeOn(rounded, {24, 20}), {20, 24}, {30, 31}).rope;
        EXPECT_LT(distance(resized, ropeOn(r, {31, 30})), 1e-5);
        // The altered value is not the f16 rounding of a value of any formula.
        Rope altered = ropeOn(rounded, {24, 20});
        altered.cos.writeF()[100 * kHeadSize] -= 1.f / 1024;
        EXPECT_THROW(models::resizedRope(altered, {20, 24}, {30, 31}), models::Refusal);
    }
}

// On large grids, angles span many turns, so the rounding of f32 is coarse.
TEST(RotarySize, LargeGrids) {
    for (const Rotary& r : {kDinov3, kEva02, kPerception}) {
        SCOPED_TRACE(r.name);
        for (const cv::Size& to : {cv::Size(64, 200), cv::Size(14, 14)}) {
            const Rope resized = models::resizedRope(ropeOn(r, {120, 100}), {100, 120}, gridOf(to)).rope;
            EXPECT_LT(distance(resized, ropeOn(r, to)), 3e-5);
        }
    }
}

TEST(RotarySize, TablesOfEachHead) {
    const auto joined = [](cv::Size grid) {
        Rotary other = kDinov3;
        other.base = 300;
        List<float> cos, sin;
        for (const Rotary& r : {kDinov3, other}) {
            const Rope rope = ropeOn(r, grid);
            const std::vector<float> c = rope.cos.toFloats(), s = rope.sin.toFloats();
            cos.insert(cos.end(), c.begin(), c.end());
            sin.insert(sin.end(), s.begin(), s.end());
        }
        const Shape shape{2, grid.area(), kHeadSize};
        return Rope{Tensor::floats(shape, cos), Tensor::floats(shape, sin), false};
    };
    const Rope resized = models::resizedRope(joined(kWide), gridOf(kWide), {9, 10}).rope;
    EXPECT_EQ(resized.cos.shape(), (Shape{2, 90, kHeadSize}));
    EXPECT_LT(distance(resized, joined({10, 9})), 1e-5);
}

TEST(RotarySize, DecoderWithQueries) {
    for (const bool withSpecial : {false, true}) {
        for (const cv::Size& to : kOthers) {
            SCOPED_TRACE(cv::format("%dx%d", to.height, to.width));
            const test::TempFolder folder;
            Rotary r = kDinov3;
            r.withSpecial = withSpecial;
            models::writeModel(decodedExport(r, kWide), folder / "export.onnx");
            models::writeModel(decodedExport(r, to), folder / "there.onnx");
            convertTo(folder / "export.onnx", folder / "resized.onnx", to);
            convertTo(folder / "there.onnx", folder / "own.onnx", to);
            EXPECT_LT(distance(forwardAt(folder / "resized.onnx", to, {}).output,
                               evaluatedAt(folder / "there.onnx", to)),
                      1e-4);
            EXPECT_LT(distance(forwardAt(folder / "resized.onnx", to, {1, 3}).output,
                               forwardAt(folder / "own.onnx", to, {1, 3}).output),
                      1e-4);
        }
    }
}

// Tables of a decoder may have rows of angle 0 for queries, before and after the rows of image tokens. The
// rows of angle 0 must stay.
TEST(RotarySize, RowsWithoutAPositionStay) {
    const auto around = [](const Rope& rope, int64_t front, int64_t back) {
        const auto added = [&](const Tensor& table, float still) {
            List<float> values(front * kHeadSize, still);
            const std::vector<float> image = table.toFloats();
            values.insert(values.end(), image.begin(), image.end());
            values.resize(values.size() + back * kHeadSize, still);
            return Tensor::floats({1, front + table.dim(1) + back, kHeadSize}, values);
        };
        return Rope{added(rope.cos, 1), added(rope.sin, 0), rope.interleaved};
    };
    const Rotary index{"index", byIndex};
    for (const Rotary& r : {kDinov3, index}) {
        for (const auto& [front, back] : {std::pair(5, 0), std::pair(0, 3), std::pair(2, 4)}) {
            const Rope old = around(ropeOn(r, kWide), front, back);
            const Rope resized = models::resizedRope(old, gridOf(kWide), {9, 10}).rope,
                       expected = around(ropeOn(r, {10, 9}), front, back);
            ASSERT_EQ(resized.cos.shape(), expected.cos.shape());
            EXPECT_LT(distance(resized, expected), 1e-5);
            Rope turned = old;  // has an angle for a query
            const int64_t row = front > 0 ? 0 : old.cos.dim(1) - 1;
            turned.sin.writeF()[row * kHeadSize] = 0.1f;
            EXPECT_THROW(models::resizedRope(turned, gridOf(kWide), {9, 10}), models::Refusal);
        }
    }
}

TEST(RotarySize, TablesThatDoNotFitAreRejected) {
    const Rope rope = ropeOn(kDinov3, {8, 6});
    EXPECT_THROW(models::resizedRope(rope, {6, 9}, {9, 10}), models::Refusal);
    EXPECT_THROW(models::resizedRope(rope, {8, 6}, {9, 10}), models::Refusal);  // rows and columns swapped
    EXPECT_THROW(models::resizedRope(ropeOn(kDinov3, {8, 1}), {1, 8}, {9, 10}), models::Refusal);
}

}  // namespace
