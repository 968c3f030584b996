// One operator at work. A kernel always sets the shapes of its outputs, and their data where all it needs is
// known: the same code serves shape inference, folding and the plain evaluation that converted models are
// proved against.
#pragma once

#include <functional>

#include "base/loops.hpp"
#include "models/onnx/graph.hpp"

namespace mpm::models {

struct Call {
    const Node& node;
    int opset;
    std::vector<Tensor> in;  ///< Type::None where an optional input is absent
    std::vector<Tensor> out;

    bool has(size_t k) const { return k < in.size() && in[k].type() != Type::None; }
    const Tensor& input(size_t k) const;                 ///< throws Refusal where absent
    const Tensor& knownInput(size_t k) const;            ///< throws Refusal where its values are not known
    bool known() const;                                  ///< every present input has its data
    std::vector<int64_t> axes(size_t inputIndex) const;  ///< attribute `axes` or the input, as opsets have it
    int axis(int64_t axis, int rank) const;  ///< counted from the front; throws where out of range
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
std::vector<int64_t> stridesOf(const Shape& shape);
/// Strides of `shape` seen as the larger `target`: zero along broadcast axes.
std::vector<int64_t> broadcastStrides(const Shape& shape, const Shape& target);

/// Calls body(begin, end) over 0..count on all threads, in pieces of about `grain`.
template <typename Body>
void parallel(int64_t count, int64_t grain, const Body& body) {
    if (count <= grain) return body(int64_t{0}, count);
    const int pieces = static_cast<int>((count + grain - 1) / grain);
    const auto piece = [&](const cv::Range& range) {
        body(range.start * grain, std::min<int64_t>(count, range.end * grain));
    };
    parallelRanges(pieces, piece);
}

}  // namespace mpm::models
