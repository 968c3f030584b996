// The elements of a tensor as sparse sums of other elements. A large model has millions of elements per step,
// and most are a copy of another element: columns with default values are omitted, and steps that change
// nothing share columns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "models/onnx/eval/evaluate.hpp"
#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/ir/list.hpp"
#include "models/onnx/ir/tensor.hpp"

namespace mpm::models {

/// factor[0] * source[at[0]] + factor[1] * source[at[1]] + constant. `at` counts over all sources in order.
struct Term {
    int32_t at[2] = {-1, -1};
    float factor[2] = {0, 0};
    float constant = 0;
    int count() const { return (at[0] >= 0) + (at[1] >= 0); }
};

class Terms {
public:
    Terms() = default;
    static Terms identity(int64_t count, int64_t offset);
    static Terms constants(const float* values, int64_t count);
    static Terms from(const List<Term>& terms);

    size_t size() const { return m_count; }
    Term operator[](size_t k) const;
    /// Returns the elements in slot 0 or 1, by term (-1: none). Null if no term has an element in the slot.
    const int32_t* at(int slot) const { return m_at[slot] ? m_at[slot]->data() : nullptr; }
    bool simple() const { return !m_at[1] && !m_constant; }  ///< each is a single element, perhaps scaled
    bool any(const std::function<bool(const Term&)>& test) const;

    /// Element k of the result is element order[k].
    Terms picked(const List<int32_t>& order) const;
    static Terms joined(const List<Terms>& parts);
    Terms scaled(const Terms& by, bool divide) const;  ///< `by` has constants only
    /// False if an element would depend on more than two others.
    static bool sum(const Terms& a, const Terms& b, float sign, Terms& result);
    /// The same for dependence: only `at` is meaningful.
    static bool united(const Terms& a, const Terms& b, Terms& result);

private:
    template <typename T>
    using Column = std::shared_ptr<const List<T>>;

    static Terms empty(size_t count);

    size_t m_count = 0;
    Column<int32_t> m_at[2];    // absent: -1
    Column<float> m_factor[2];  // absent: 1 if there is an element
    Column<float> m_constant;   // absent: 0
};

struct Trace {
    Shape shape;
    List<int> sources;      ///< values at which the trace ends
    List<int64_t> offsets;  ///< the first `at` of each source
    Terms terms;
};

enum class Follow {
    Affine,     ///< moves, scaling, adding: factors and constants are exact
    Dependence  ///< also any element-wise operator: only `at` is meaningful
};

/// Returns the value as a function of its sources; empty if an element depends on more than two others, or if
/// a node in between cannot be followed. Values in `stop` are sources even if they could be followed.
std::optional<Trace> trace(const Graph& graph, const Inferred& inferred, int value,
                           Follow follow = Follow::Affine, const List<int>& stop = {});

/// Whether a trace of this kind can pass the node.
bool canFollow(const Inferred& inferred, const Node& node, Follow follow);

constexpr const char* kPurpose = "following single elements";  ///< for messages about memory

Dense denseOf(const Graph& graph, const Node& linear);

/// Moves a scale and a shift of each column into the weights: y = (x W + b) * factor + constant.
Dense withBranch(Dense dense, const List<float>& factor, const List<float>& constant);

struct JoinedLinear {
    int value = kAbsent;  ///< the result, whose row r follows from row r of the input
    int input = kAbsent;  ///< value that the layer reads
    Dense dense;
};

/// Joins layers of the same input whose results are joined by columns, added, or scaled and shifted by
/// constants, such as experts that constants switch. The result gives `value`, or a value that leads to it.
std::optional<JoinedLinear> joinedLinear(const Graph& graph, const Inferred& inferred, int value);

}  // namespace mpm::models
