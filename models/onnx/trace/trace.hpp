// Describes the elements of a tensor as sums of a few elements of other tensors. A large model has millions
// of elements at each node. Most elements are copies, whose terms have default values in most fields. To save
// memory, each field is stored as a separate column. A column of default values is omitted, and nodes that do
// not change a column share the column.
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

/// The sum factor[0] * source[at[0]] + factor[1] * source[at[1]] + constant. `at` counts the elements of all
/// sources, one source after the other; -1: no element.
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
    /// Returns at[slot] of each term (-1: no element); null if no term has an element in this slot.
    const int32_t* at(int slot) const { return m_at[slot] ? m_at[slot]->data() : nullptr; }
    bool simple() const { return !m_at[1] && !m_constant; }  ///< no term has a second element or a constant
    bool any(const std::function<bool(const Term&)>& test) const;

    /// Returns selected elements: element k of the result is element order[k].
    Terms picked(const List<int32_t>& order) const;
    static Terms joined(const List<Terms>& parts);
    Terms scaled(const Terms& by, bool divide) const;  ///< `by` must have constants only
    /// Returns false if an element would depend on more than two source elements.
    static bool sum(const Terms& a, const Terms& b, float sign, Terms& result);
    /// Like sum(), for Follow::Dependence: only `at` of the result is meaningful.
    static bool united(const Terms& a, const Terms& b, Terms& result);

private:
    template <typename T>
    using Column = std::shared_ptr<const List<T>>;

    static Terms empty(size_t count);

    size_t m_count = 0;
    Column<int32_t> m_at[2];    // null: all -1
    Column<float> m_factor[2];  // null: 1 for each element
    Column<float> m_constant;   // null: all 0
};

struct Trace {
    Shape shape;
    List<int> sources;      ///< values at which the trace ends
    List<int64_t> offsets;  ///< the lowest `at` of each source
    Terms terms;
};

enum class Follow {
    Affine,     ///< nodes that move, scale or add: factors and constants are exact
    Dependence  ///< also nodes that work element by element: only `at` is meaningful
};

/// Returns the value as a function of its sources: values in `stop`, inputs, and results of nodes that a
/// trace cannot pass. Returns nothing if, for example, an element depends on more than two source elements.
std::optional<Trace> trace(const Graph& graph, const Inferred& inferred, int value,
                           Follow follow = Follow::Affine, const List<int>& stop = {});

/// Returns whether a trace of the kind `follow` can pass the node.
bool canFollow(const Inferred& inferred, const Node& node, Follow follow);

constexpr const char* kPurpose = "following single elements";  ///< for messages about memory

Dense denseOf(const Graph& graph, const Node& linear);

/// Moves the scale and the shift of each column into weight W and bias b: y = (x W + b) * factor + constant.
Dense withBranch(Dense dense, const List<float>& factor, const List<float>& constant);

struct JoinedLinear {
    int value = kAbsent;  ///< the result; row r is computed from row r of the input
    int input = kAbsent;  ///< value that the layer reads
    Dense dense;
};

/// Searches for a linear layer that is equivalent to several layers of one input. The results of these layers
/// may only be joined by columns, added, or scaled and shifted by constants (for example experts that
/// constants switch on or off). `JoinedLinear::value` is the layer's result: `value` itself, or a value from
/// which affine nodes compute `value`.
std::optional<JoinedLinear> joinedLinear(const Graph& graph, const Inferred& inferred, int value);

}  // namespace mpm::models
