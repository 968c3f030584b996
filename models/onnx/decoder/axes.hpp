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

/// A tensor while it is followed.
class AxisLayout {
public:
    AxisLayout(int value, const Axes& axes, const Extents& extents);

    int value() const { return m_value; }
    /// The first index that the slices have left of a part.
    int64_t first(int part) const;
    /// Selects a single index of a part.
    void pin(int part, int64_t index) { m_first[part] = index; }
    /// Whether the axes are these.
    bool is(const Axes& axes) const;

    /// The same elements, a node closer to the inputs. False at a node that does more than move elements.
    bool back(const Graph& graph, const Inferred& inferred);
    /// The same elements, a node closer to the outputs, at `node`, which reads the value.
    bool forward(const Inferred& inferred, const Node& node);
    /// Input `value` of a node that computes element by element, which may be broadcast.
    void enter(const Inferred& inferred, int value);
    /// Input k of a Concat along `part`, which the input does not have. False if the axis is made otherwise.
    bool enterConcat(const Inferred& inferred, const Node& node, size_t k, int part);

    /// The element of a tensor that is broadcast to these axes; parts that are not named are at their
    /// beginning.
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

/// Replaces each by an MpmDeformable. Returns the number; other spellings stay.
int fuseDeformables(Graph& graph, const Inferred& inferred);

/// Replaces each such softmax by an MpmMaskedSoftmax. Returns the number; other spellings stay.
int fuseMaskedSoftmaxes(Graph& graph, const Inferred& inferred);

constexpr int kMostSteps = 64;  ///< of nodes that are followed in a row

/// Whether all elements are the same number.
bool isUniform(const Tensor& t, double& number);
/// Whether the node moves or repeats elements, or changes their type only.
bool isMove(const Node& node);

/// The mask without the guard, if the node is a guard; else kAbsent. True elements of the mask are hidden, or
/// the others. Guards compare a sum over the keys with a number, or ask whether all (any) keys are hidden.
int guardedBy(const Graph& graph, const Inferred& inferred, const Node& node, bool hides);

}  // namespace mpm::models
