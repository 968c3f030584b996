// A call to an operator. The operator always sets the shapes of its outputs. If all inputs are known, the
// operator also sets the data (except most operators of the domain mpm). The same code therefore serves shape
// inference, constant folding and the evaluation that verifies converted models.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "models/onnx/ir/graph.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {

struct Call {
    const Node& node;
    int opset;
    List<Tensor> in;  ///< Type::None if an optional input is absent
    List<Tensor> out;

    bool has(size_t k) const { return k < in.size() && in[k].type() != Type::None; }
    const Tensor& input(size_t k) const;          ///< throws Refusal if absent
    const Tensor& knownInput(size_t k) const;     ///< throws Refusal if its values are unknown
    bool known() const;                           ///< returns whether every present input has data
    List<int64_t> axes(size_t inputIndex) const;  ///< values of this input; without it, attribute `axes`
    int axis(int64_t axis, int rank) const;       ///< adds `rank` if negative; throws Refusal if out of range
    /// Creates output k, filled with zeros. Must be called only if the values can be computed.
    Tensor& make(size_t k, Type type, const Shape& shape);
    void shape(size_t k, Type type, const Shape& shape);  ///< sets output k without values
};

using Operator = std::function<void(Call&)>;

/// Returns nullptr if the operator is unknown.
const Operator* findOperator(const Node& node);

using OperatorTable = std::map<std::string, Operator>;
void addElementwise(OperatorTable& table);
void addMovement(OperatorTable& table);
void addIndexing(OperatorTable& table);
void addShapes(OperatorTable& table);
void addReductions(OperatorTable& table);
void addNorms(OperatorTable& table);
void addProducts(OperatorTable& table);
void addConvolutions(OperatorTable& table);
void addResize(OperatorTable& table);
void addSampling(OperatorTable& table);
void addAttention(OperatorTable& table);
void addOwn(OperatorTable& table);  ///< operators of the domain mpm; names have the domain as prefix

/// An operation whose integers wrap around, as in inference engines. In C++, only unsigned integers may wrap.
template <class Operation>
struct Wrapping {
    float operator()(float a, float b) const { return Operation()(a, b); }
    int64_t operator()(int64_t a, int64_t b) const {
        return static_cast<int64_t>(Operation()(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
    }
};
using Plus = Wrapping<std::plus<>>;

Shape broadcast(const Shape& a, const Shape& b);
List<int64_t> stridesOf(const Shape& shape);
/// Returns the strides that read a tensor of `shape` as if it had the larger shape `target`. The strides of
/// broadcast axes are 0.
List<int64_t> broadcastStrides(const Shape& shape, const Shape& target);

/// Returns the offset of an element for each list of strides in `steps`. `position` is the index of the
/// element in a tensor that has only the first `axes` axes of `shape`.
template <typename... Steps>
inline std::array<int64_t, sizeof...(Steps)> offsetsAt(int64_t position, const Shape& shape, int64_t axes,
                                                       const Steps&... steps) {
    std::array<int64_t, sizeof...(Steps)> offsets{};
    for (int64_t d = axes; d-- > 0; position /= shape[d]) {
        const int64_t index = position % shape[d];
        size_t k = 0;
        ((offsets[k++] += index * steps[d]), ...);
    }
    return offsets;
}

/// Returns the product of the extents from axis `begin` up to the axis before `end`.
int64_t extentOf(const Shape& shape, size_t begin, size_t end);

/// Calls body(begin, end) for parts of 0..count on all threads; a part has about `grain` elements. After the
/// time limit, skips the remaining parts and throws BudgetError.
template <typename Body>
void parallel(int64_t count, int64_t grain, const Body& body) {
    if (count <= grain) return body(int64_t{0}, count);
    constexpr int64_t kMostPieces = 1 << 20;
    const int64_t each = std::max(grain, count / kMostPieces);
    const int pieces = static_cast<int>((count + each - 1) / each);
    const Deadline deadline;
    const auto piece = [&](const cv::Range& range) {
        for (int64_t k = range.start; k < range.end && !deadline.isOver(); ++k)
            body(k * each, std::min<int64_t>(count, (k + 1) * each));
    };
    parallelRanges(pieces, piece);
    checkTime();
}

/// Computes C = A B for A [m, k] and B [k, n]. If `threads` is false, uses only the calling thread. If the
/// deadline passes, C is incomplete.
void gemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
          const Deadline& deadline = Deadline(), bool threads = true);

/// Returns the memory in bytes that a call to gemm() needs in addition to A, B and C.
int64_t packedBytes(int64_t n, int64_t k);

}  // namespace mpm::models
