// Axes of a tensor as products of named parts (image, head, query ...), which remain while nodes only move
// elements, in any sequence of reshapes and transposes.
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
    /// Returns the first index of a part that slices have kept.
    int64_t first(int part) const;
    /// Selects a single index of a part.
    void pin(int part, int64_t index) { m_first[part] = index; }
    /// Whether the axes equal `axes`, without parts of extent 1.
    bool is(const Axes& axes) const;

    /// Moves to the same elements in the input of the node that gives the value. Returns false unless the
    /// node only moves elements.
    bool back(const Graph& graph, const Inferred& inferred);
    /// Moves to the same elements in the output of `node`, a reader of the value. Returns false unless it
    /// reshapes or transposes.
    bool forward(const Inferred& inferred, const Node& node);
    /// Moves to an input, `value`, of a node that computes element by element. The input may be broadcast.
    void enter(const Inferred& inferred, int value);
    /// Moves to input k of a Concat along `part`, a part that the input lacks. Returns false if the axes do
    /// not fit.
    bool enterConcat(const Inferred& inferred, const Node& node, size_t k, int part);

    /// Returns the number of the element at `indices` in a tensor that is broadcast to these axes. Parts that
    /// are not in `indices` are at 0.
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

/// Replaces deformable attention of a known spelling by MpmDeformable. Returns the number of replacements.
int fuseDeformables(Graph& graph, const Inferred& inferred);

/// Replaces softmax over masked keys, of a known spelling, by MpmMaskedSoftmax. Returns the number of
/// replacements.
int fuseMaskedSoftmaxes(Graph& graph, const Inferred& inferred);

constexpr int kMostSteps = 64;  ///< most nodes that a search follows

/// Whether all elements are the same number, which is returned in `number`.
bool isUniform(const Tensor& t, double& number);
/// Whether the node only moves or repeats elements, or changes their type.
bool isMove(const Node& node);

/// Returns the mask that `node` guards, else kAbsent. A guard shows all keys of a row if the mask hides them
/// all. It compares the number of hidden or visible keys with a number, or tests if all are hidden or any is
/// visible. `hides`: true elements of the mask are hidden, else false elements.
int guardedBy(const Graph& graph, const Inferred& inferred, const Node& node, bool hides);

}  // namespace mpm::models
