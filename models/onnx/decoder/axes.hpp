// Parts of a tensor's axes: while nodes only move elements, every axis is a product of named parts (image,
// head, query ...), for any sequence of reshapes and transposes.
#pragma once

#include <map>

#include "models/onnx/eval/evaluate.hpp"

namespace mpm::models {

/// Names of parts.
enum Part { kImage, kHead, kQuery, kLevel, kPoint, kCoordinate, kChannel, kRow, kColumn, kKey };

/// An axis: the parts from the outermost to the innermost. Parts of extent 1 are left out.
using Axis = List<int>;
using Axes = List<Axis>;
using Extents = std::map<int, int64_t>;

/// The axes of a tensor while it is followed through the graph.
class AxisLayout {
public:
    AxisLayout(int value, const Axes& axes, const Extents& extents);

    int value() const { return m_value; }
    /// Returns the first index of a part that the slices have kept.
    int64_t first(int part) const;
    /// Selects a single index of a part.
    void pin(int part, int64_t index) { m_first[part] = index; }
    /// Whether the axes equal `axes`.
    bool is(const Axes& axes) const;

    /// Moves to the same elements a node closer to the inputs. False if the node does not only move elements.
    bool back(const Graph& graph, const Inferred& inferred);
    /// Moves to the same elements a node closer to the outputs: the output of `node`, which reads the value.
    bool forward(const Inferred& inferred, const Node& node);
    /// Moves to the input `value`, which may be broadcast, of a node that computes element by element.
    void enter(const Inferred& inferred, int value);
    /// Moves to input k of a Concat along `part`, which the input lacks. False if the axis has another form.
    bool enterConcat(const Inferred& inferred, const Node& node, size_t k, int part);

    /// Returns the element, at `indices`, of a tensor that is broadcast to these axes. Parts that are not in
    /// `indices` are at 0.
    int64_t elementAt(const Shape& shape, const Extents& indices) const;
    /// Whether a tensor that is broadcast to these axes has different elements along a part.
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

/// Replaces deformable attention by MpmDeformable. Returns the number; other spellings stay.
int fuseDeformables(Graph& graph, const Inferred& inferred);

/// Replaces softmax over masked keys by MpmMaskedSoftmax. Returns the number; other spellings stay.
int fuseMaskedSoftmaxes(Graph& graph, const Inferred& inferred);

constexpr int kMostSteps = 64;  ///< limit of nodes that a search follows

/// Whether all elements are the same number.
bool isUniform(const Tensor& t, double& number);
/// Whether the node only moves or repeats elements, or changes their type.
bool isMove(const Node& node);

/// Returns the mask without the guard; kAbsent if the node is not a guard. `hides`: true elements are hidden,
/// else false elements. A guard compares a sum over the keys with a number, or tests if all (any) are hidden.
int guardedBy(const Graph& graph, const Inferred& inferred, const Node& node, bool hides);

}  // namespace mpm::models
