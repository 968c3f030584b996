// A small vision transformer with rotary positions, with the formulas of several published models.
#pragma once

#include <functional>
#include <string>

#include "models/onnx/ir/encoder.hpp"
#include "small_export.hpp"

namespace mpm::test::rotary {

constexpr int kHeadSize = SmallExport::kDim / SmallExport::kHeads;
constexpr float kTurn = 6.28318530718f;

/// Returns the position of index `i` along an axis of this length. `other` is the length of the second axis.
using Coordinate = std::function<float(int i, int length, int other)>;

float byOwnAxis(int i, int length, int other);
float byLongerAxis(int i, int length, int other);
float byShorterAxis(int i, int length, int other);
float byIndex(int i, int length, int other);
float byIndexFromOne(int i, int length, int other);
Coordinate scaledTo(int reference, int offset = 0);

struct Rotary {
    std::string name;
    Coordinate coordinate;
    float first = 1;  // the first frequency
    float base = 10000;
    bool interleaved = true;
    bool columnsFirst = false;
    bool withSpecial = false;  // the tables have a row of angle 0 for the class token
    bool inGraph = false;      // nodes compute DINOv3's tables from the image's shape
    float sign = 1;
    std::function<float(float)> roundPeriod = {}, roundTable = {};
};

/// Returns the tables of the image tokens. `grid` has columns x rows.
models::Rope ropeOn(const Rotary& r, cv::Size grid);

using Edit = std::function<void(models::Tensor& cos, models::Tensor& sin)>;

/// Returns a model of four rotary blocks. The only positions are rotary, and `edit` may change their tables.
models::Graph rotaryExport(const models::List<Rotary>& byBlock, cv::Size grid, const Edit& edit = {});

/// Returns a model of rotary blocks and a decoder. The decoder passes the normed tokens through a linear
/// layer, puts queries before them, and has two more blocks.
models::Graph decodedExport(const Rotary& r, cv::Size grid);

}  // namespace mpm::test::rotary
