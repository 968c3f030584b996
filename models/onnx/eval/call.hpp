// One operator at work. A kernel always sets the shapes of its outputs, and their data where all it needs is
// known: the same code serves shape inference, folding and the plain evaluation that converted models are
// proved against.
#pragma once

#include <functional>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "models/onnx/ir/graph.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {

struct Call {
    const Node& node;
    int opset;
    List<Tensor> in;  ///< Type::None where an optional input is absent
    List<Tensor> out;

    bool has(size_t k) const { return k < in.size() && in[k].type() != Type::None; }
    const Tensor& input(size_t k) const;          ///< throws Refusal where absent
    const Tensor& knownInput(size_t k) const;     ///< throws Refusal where its values are not known
    bool known() const;                           ///< every present input has its data
    List<int64_t> axes(size_t inputIndex) const;  ///< attribute `axes` or the input, as opsets have it
    int axis(int64_t axis, int rank) const;       ///< counted from the front; throws where out of range
    /// Output k with room for its values; only call it where `known()`.
    Tensor& make(size_t k, Type type, const Shape& shape);
    void shape(size_t k, Type type, const Shape& shape);  ///< output k without values
};

using Kernel = std::function<void(Call&)>;

/// nullptr where the operator is unknown.
const Kernel* findKernel(const Node& node);

using Kernels = std::map<std::string, Kernel>;
void addElementwise(Kernels& kernels);
void addMovement(Kernels& kernels);
void addIndexing(Kernels& kernels);
void addShapes(Kernels& kernels);
void addReductions(Kernels& kernels);
void addNorms(Kernels& kernels);
void addProducts(Kernels& kernels);
void addConvolutions(Kernels& kernels);
void addResize(Kernels& kernels);
void addAttention(Kernels& kernels);
void addOwn(Kernels& kernels);  ///< shapes of domain mpm, under names with the domain in front

Shape broadcast(const Shape& a, const Shape& b);
List<int64_t> stridesOf(const Shape& shape);
/// Strides of `shape` seen as the larger `target`: zero along broadcast axes.
List<int64_t> broadcastStrides(const Shape& shape, const Shape& target);

/// The product of the extents from axis `begin` to `end`.
int64_t extentOf(const Shape& shape, size_t begin, size_t end);

/// Calls body(begin, end) over 0..count on all threads, in pieces of about `grain`. The rest is left out once
/// the time of the job is over, and BudgetError thrown.
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

}  // namespace mpm::models
