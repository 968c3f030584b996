// Which element of its input each element of a move's output is.
#pragma once

#include <functional>

#include "models/onnx/ir/tensor.hpp"

namespace mpm::models {

constexpr const char* kPurpose = "following single elements";  ///< of their memory

/// The input is read from `start` in steps along every axis of the output.
List<int32_t> walk(const Shape& out, int64_t start, const List<int64_t>& step);

/// `indexAt` gives the index of the input along an axis; if the index is outside, the element is the index
/// behind the last.
List<int32_t> placed(const Shape& in, const Shape& out,
                     const std::function<int64_t(size_t axis, int64_t index)>& indexAt);

}  // namespace mpm::models
