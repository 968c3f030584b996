#include "models/onnx/decoder/axes.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace mpm::models {
namespace {

bool reshapes(const Node& node) {
    return node.isAny({"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Dropout", "Cast"});
}

bool isKnown(const Inferred& inferred, int value) {
    return value != kAbsent && static_cast<size_t>(value) < inferred.values.size() &&
           inferred.values[value].known();
}

// Returns whether `from` can be broadcast to `to`.
bool onlySpreads(const Shape& from, const Shape& to) {
    if (from.size() > to.size()) return false;
    for (size_t k = 0; k < from.size(); ++k)
        if (from[k] != 1 && from[k] != to[to.size() - from.size() + k]) return false;
    return true;
}

bool wrap(int64_t& axis, size_t rank) {
    if (axis < 0) axis += static_cast<int64_t>(rank);
    return axis >= 0 && axis < static_cast<int64_t>(rank);
}

}  // namespace

AxisLayout::AxisLayout(int value, const Axes& axes, const Extents& extents)
    : m_value(value), m_extents(extents), m_axes(present(axes)) {}

Axes AxisLayout::present(const Axes& axes) const {
    Axes left;
    for (const Axis& axis : axes) {
        left.emplace_back();
        for (int part : axis)
            if (m_extents.at(part) > 1) left.back().push_back(part);
    }
    return left;
}

int64_t AxisLayout::first(int part) const {
    const auto found = m_first.find(part);
    return found == m_first.end() ? 0 : found->second;
}

bool AxisLayout::is(const Axes& axes) const {
    return m_axes == present(axes);
}

// Assigns the parts in order to the axes of a new shape. Returns false if an axis would end within a part.
bool AxisLayout::reshape(const Shape& shape) {
    List<int> parts;
    for (const Axis& axis : m_axes)
        parts.insert(parts.end(), axis.begin(), axis.end());
    Axes axes;
    size_t next = 0;
    for (int64_t extent : shape) {
        axes.emplace_back();
        for (int64_t product = 1; product != extent; ++next) {
            if (next == parts.size() || !productFits(product, product, m_extents.at(parts[next])))
                return false;
            if (product > extent) return false;
            axes.back().push_back(parts[next]);
        }
    }
    if (next != parts.size()) return false;
    m_axes = axes;
    return true;
}

// Undoes a slice that begins at index `first`. Before the slice, `axis` had `whole` elements. If the slice
// has 1 element, `axis` has no parts, and cut() assumes that the whole axis is the part kLevel.
bool AxisLayout::cut(Axis& axis, int64_t whole, int64_t first) {
    const int part = axis.empty() ? static_cast<int>(kLevel) : axis[0];
    if (axis.empty() && m_extents[kLevel] != whole && m_extents[kLevel] > 1) return false;
    axis = {part};
    m_extents[part] = whole;
    m_first[part] = checkedSum<int64_t>(this->first(part), first);
    return true;
}

bool AxisLayout::backSlice(const Inferred& inferred, const Node& node) {
    const Shape& in = inferred.values[node.inputs[0]].shape();
    for (size_t k = 1; k < node.inputs.size(); ++k)
        if (node.inputs[k] != kAbsent && !isKnown(inferred, node.inputs[k])) return false;
    const List<int64_t> starts = listOf(inferred, node, 1, "starts"), by = listOf(inferred, node, 4, "steps");
    List<int64_t> axes = listOf(inferred, node, 3, "axes");
    for (size_t k = axes.size(); k < starts.size(); ++k)
        axes.push_back(static_cast<int64_t>(k));
    const Shape out = inferred.values[m_value].shape();
    for (size_t k = 0; k < starts.size(); ++k) {
        if (!wrap(axes[k], in.size()) || (k < by.size() && by[k] != 1)) return false;
        const int64_t extent = in[axes[k]];
        if (out[axes[k]] == extent) continue;
        const int64_t start = std::clamp<int64_t>(starts[k] < 0 ? starts[k] + extent : starts[k], 0, extent);
        if (!cut(m_axes[axes[k]], extent, start)) return false;
    }
    return true;
}

bool AxisLayout::backSplit(const Inferred& inferred, const Node& node) {
    int64_t axis = node.getInt("axis", 0), first = 0;
    const Shape& in = inferred.values[node.inputs[0]].shape();
    if (!wrap(axis, in.size())) return false;
    for (int out : node.outputs) {
        if (out == m_value) break;
        if (out == kAbsent) return false;
        first = checkedSum<int64_t>(first, inferred.values[out].shape().at(axis));
    }
    if (inferred.values[m_value].shape()[axis] == in[axis]) return true;
    return cut(m_axes[axis], in[axis], first);
}

bool AxisLayout::backGather(const Inferred& inferred, const Node& node) {
    if (!isKnown(inferred, node.inputs[1]) || inferred.values[node.inputs[1]].size() != 1) return false;
    int64_t axis = node.getInt("axis", 0);
    const Shape& in = inferred.values[node.inputs[0]].shape();
    if (!wrap(axis, in.size())) return false;
    if (inferred.values[node.inputs[1]].rank() == 0) m_axes.insert(m_axes.begin() + axis, Axis());
    int64_t index = inferred.values[node.inputs[1]].toInts()[0];
    if (!wrap(index, static_cast<size_t>(in[axis])) || m_axes.size() != in.size()) return false;
    return in[axis] == 1 || cut(m_axes[axis], in[axis], index);
}

bool AxisLayout::back(const Graph& graph, const Inferred& inferred) {
    const Node* node = graph.nodeOf(m_value);
    if (!node || !node->domain.empty() || node->inputs.empty() || node->inputs[0] == kAbsent) return false;
    const int from = node->inputs[0];
    const Tensor& source = inferred.values[from];
    if (source.type() == Type::None || source.rank() > 16) return false;
    const AxisLayout before = *this;
    bool moved = false;
    if (reshapes(*node)) {
        moved = reshape(source.shape());
    } else if (node->is("Transpose")) {
        List<int64_t> order = node->getInts("perm");
        for (size_t k = m_axes.size(); order.size() < m_axes.size(); --k)
            order.push_back(static_cast<int64_t>(k - 1));
        moved = order.size() == m_axes.size();
        for (size_t k = 0; k < m_axes.size() && moved; ++k)
            m_axes[order[k]] = before.m_axes[k];
    } else if (node->is("Slice")) {
        moved = backSlice(inferred, *node);
    } else if (node->is("Split")) {
        moved = backSplit(inferred, *node);
    } else if (node->is("Gather")) {
        moved = backGather(inferred, *node);
    } else if (node->is("Expand") || node->is("Tile")) {
        moved = onlySpreads(source.shape(), inferred.values[m_value].shape());
        if (moved) enter(inferred, from);
    }
    if (moved) {
        m_value = from;
    } else {
        *this = before;
    }
    return moved;
}

bool AxisLayout::forward(const Inferred& inferred, const Node& node) {
    const int to = node.outputs[0];
    if (!node.domain.empty() || inferred.values[to].type() == Type::None) return false;
    if (reshapes(node)) {
        if (!reshape(inferred.values[to].shape())) return false;
    } else if (node.is("Transpose")) {
        const List<int64_t> order = node.getInts("perm");
        const Axes before = m_axes;
        if (order.size() != before.size()) return false;
        for (size_t k = 0; k < before.size(); ++k)
            m_axes[k] = before[order[k]];
    } else {
        return false;
    }
    m_value = to;
    return true;
}

void AxisLayout::enter(const Inferred& inferred, int value) {
    const Shape& shape = inferred.values[value].shape();
    if (shape.size() > m_axes.size()) throw Refusal("shapes do not fit: the file is damaged");
    m_axes.erase(m_axes.begin(), m_axes.begin() + static_cast<std::ptrdiff_t>(m_axes.size() - shape.size()));
    for (size_t k = 0; k < shape.size(); ++k)
        if (shape[k] == 1) m_axes[k].clear();
    m_value = value;
}

bool AxisLayout::enterConcat(const Inferred& inferred, const Node& node, size_t k, int part) {
    int64_t axis = node.getInt("axis", 0);
    const Shape& shape = inferred.values[node.inputs[k]].shape();
    if (!wrap(axis, m_axes.size()) || shape.size() != m_axes.size()) return false;
    Axis& parts = m_axes[axis];
    if (parts.empty() || parts[0] != part) return false;
    parts.erase(parts.begin());
    int64_t left = 1;
    for (int one : parts)
        left = checkedProduct<int64_t>(left, m_extents.at(one));
    m_value = node.inputs[k];
    return left == shape[axis];
}

int64_t AxisLayout::elementAt(const Shape& shape, const Extents& indices) const {
    const size_t skip = m_axes.size() - shape.size();
    int64_t element = 0;
    for (size_t k = 0; k < shape.size(); ++k) {
        int64_t index = 0;
        for (int part : m_axes[skip + k]) {
            const auto found = indices.find(part);
            index = checkedSum<int64_t>(checkedProduct<int64_t>(index, m_extents.at(part)),
                                        found == indices.end() ? int64_t{0} : found->second);
        }
        element = checkedSum<int64_t>(checkedProduct<int64_t>(element, shape[k]), shape[k] == 1 ? 0 : index);
    }
    return element;
}

bool AxisLayout::dependsOn(const Shape& shape, int part) const {
    const size_t skip = m_axes.size() - shape.size();
    for (size_t k = 0; k < shape.size(); ++k) {
        const Axis& axis = m_axes[skip + k];
        if (shape[k] != 1 && std::find(axis.begin(), axis.end(), part) != axis.end()) return true;
    }
    return false;
}

}  // namespace mpm::models
