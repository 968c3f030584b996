// Axes of a tensor as products of named parts (image, head, query ...). Reshapes and transposes only regroup
// and reorder the parts.
#pragma once

#include <map>

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

enum Part { kImage, kHead, kQuery, kLevel, kPoint, kCoordinate, kChannel, kRow, kColumn, kKey };

/// The parts of an axis, from the outermost to the innermost. Parts of extent 1 are omitted.
using Axis = List<int>;
using Axes = List<Axis>;
using Extents = std::map<int, int64_t>;

/// The axes of a tensor while a search follows its elements through the graph.
class AxisLayout {
public:
    AxisLayout(int value, const Axes& axes, const Extents& extents);

    int value() const { return m_value; }
    /// Slices keep a range of a part's indices. Returns the first index of this range.
    int64_t first(int part) const;
    /// Selects a single index of a part.
    void pin(int part, int64_t index) { m_first[part] = index; }
    /// Returns whether the axes equal `axes`, apart from parts of extent 1.
    bool is(const Axes& axes) const;

    /// Moves to the same elements in the input of the node that computes the value. Returns false if this
    /// node does more than move elements.
    bool back(const Graph& graph, const Inferred& inferred);
    /// Moves to the same elements in the output of `node`, which must read the value. Returns false if `node`
    /// neither reshapes nor transposes.
    bool forward(const Inferred& inferred, const Node& node);
    /// Moves to `value`, an input of a node that computes element by element. The input may be broadcast.
    void enter(const Inferred& inferred, int value);
    /// Moves to input k of a Concat along `part`. Each input has a single index of this part. Returns false
    /// if the axes do not fit.
    bool enterConcat(const Inferred& inferred, const Node& node, size_t k, int part);

    /// Returns the flat index of the element at `indices` in a tensor of shape `shape` that is broadcast to
    /// these axes. Parts that are not in `indices` have the index 0.
    int64_t elementAt(const Shape& shape, const Extents& indices) const;
    /// Returns whether a tensor of shape `shape`, broadcast to these axes, varies along a part.
    bool dependsOn(const Shape& shape, int part) const;

private:
    Axes present(const Axes& axes) const;
    bool reshape(const Shape& shape);
    bool cut(Axis& axis, int64_t whole, int64_t first);
    bool backSlice(const Inferred& inferred, const Node& node);
    bool backSplit(const Inferred& inferred, const Node& node);
    bool backGather(const Inferred& inferred, const Node& node);

    int m_value;
    Extents m_extents, m_first;
    Axes m_axes;
};

/// Replaces known patterns of deformable attention with MpmDeformables. Returns the number of replacements.
int fuseDeformables(Graph& graph, const Inferred& inferred);

/// Replaces known patterns of a softmax over masked keys with MpmMaskedSoftmaxes. Returns the number of
/// replacements.
int fuseMaskedSoftmaxes(Graph& graph, const Inferred& inferred);

constexpr int kMostSteps = 64;  ///< most nodes that a search may follow

/// Returns whether all elements of a constant are the same number. If so, sets `number` to this number.
bool isUniform(const Tensor& t, double& number);
/// Returns whether the node only moves or repeats elements, or changes their type.
bool isMove(const Node& node);

/// If `node` is the guard of a mask, returns the mask, else kAbsent. If a mask hides all keys of a row, the
/// guard makes all keys of this row visible. To find such rows, the guard compares the number of hidden or
/// visible keys with a constant, or tests whether all keys are hidden or any key is visible. `hides`: true if
/// true elements of the mask hide keys; false if false elements hide keys.
int guardedBy(const Graph& graph, const Inferred& inferred, const Node& node, bool hides);

}  // namespace mpm::models
