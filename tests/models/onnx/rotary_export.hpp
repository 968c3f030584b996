// A small vision transformer with rotary positions, whose formulas are written as their authors write them.
#pragma once

#include <functional>
#include <string>

#include "models/onnx/ir/encoder.hpp"
#include "small_export.hpp"

namespace mpm::test::rotary {

constexpr int kHeadSize = SmallExport::kDim / SmallExport::kHeads;
constexpr float kTurn = 6.28318530718f;

/// The position of index `i` along an axis of this length, `other` being that of the other axis.
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
    float first = 1;  // frequency
    float base = 10000;
    bool interleaved = true;
    bool columnsFirst = false;
    bool withSpecial = false;  // a row of angle 0 for the class token
    bool inGraph = false;      // DINOv3's as nodes, from the shape of the image
    float sign = 1;
    std::function<float(float)> roundPeriod = {}, roundTable = {};
};

/// The tables of the image tokens; `grid` has columns x rows.
models::Rope ropeOn(const Rotary& r, cv::Size grid);

using Edit = std::function<void(models::Tensor& cos, models::Tensor& sin)>;

/// A class token and the patches without other positions, in four rotary blocks; `edit` may change tables.
models::Graph rotaryExport(const models::List<Rotary>& byBlock, cv::Size grid, const Edit& edit = {});

/// The same, whose normed tokens a linear layer and two more blocks decode, behind queries.
models::Graph decodedExport(const Rotary& r, cv::Size grid);

}  // namespace mpm::test::rotary
