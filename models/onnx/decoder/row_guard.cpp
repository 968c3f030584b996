#include "models/onnx/decoder/axes.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

// A mask of keys. If `hides` is true, true elements hide keys. Otherwise false elements hide keys.
struct Mask {
    int value = kAbsent;
    bool hides = true;
};

// The number that a reduction gives for a row of a mask: `whole` if all keys of the row are hidden, else a
// number from `low` to `high`.
struct RowSums {
    double whole, low, high;

    // Returns whether the condition `holds` separates the fully hidden rows from the other rows. If `full`
    // is true, `holds` must be true for exactly the fully hidden rows. If `full` is false, `holds` must be
    // true for exactly the other rows. `holds` may change its result only at `limit`.
    template <class Condition>
    bool tell(const Condition& holds, double limit, bool full) const {
        const bool inside = limit > low && limit < high;  // then `holds` may differ between other rows
        return !inside && holds(whole) == full && holds(low) != full && holds(high) != full;
    }
};

class GuardMatch {
public:
    GuardMatch(const Graph& graph, const Inferred& inferred) : m_graph(graph), m_inferred(inferred) {}

    int guardedBy(const Node& node, bool hides) const {
        if (node.is("ScatterND")) {
            const int mask = node.inputs[0];
            const bool fits = is(node.inputs[2], !hides) && selectsFullRows(node.inputs[1], {mask, hides});
            return fits ? mask : kAbsent;
        }
        if (node.is(hides ? "And" : "Or") || (hides && node.is("Mul"))) {
            for (size_t k : {0, 1})
                if (guards(node.inputs[1 - k], {node.inputs[k], hides}, !hides)) return node.inputs[k];
        }
        if (!node.is("Where")) return kAbsent;
        for (size_t k : {1, 2}) {
            const int mask = node.inputs[3 - k];
            if (is(node.inputs[k], !hides) && guards(node.inputs[0], {mask, hides}, k == 1)) return mask;
        }
        return kAbsent;
    }

private:
    const Tensor& of(int value) const { return m_inferred.values[value]; }
    const Shape& shapeOf(int value) const { return of(value).shape(); }

    // Returns whether all elements of a constant are `truth`. The constant's shape may depend on the data.
    bool is(int value, bool truth) const {
        for (int step = 0; step < kMostSteps; ++step) {
            double number = 0;
            if (isUniform(of(value), number)) return number == (truth ? 1 : 0);
            const Node* node = m_graph.nodeOf(value);
            if (!node || !(node->is("Reshape") || node->is("Expand") || node->is("Cast"))) return false;
            value = node->inputs[0];
        }
        return false;
    }

    // Returns whether the indices come from a single NonZero, which finds the fully hidden rows.
    bool selectsFullRows(int indices, const Mask& mask) const {
        OpenValues open({indices});
        int found = 0;
        for (int value; open.next(value);) {
            if (of(value).known()) continue;
            const Node* node = m_graph.nodeOf(value);
            if (!node) return false;
            if (node->is("NonZero")) {
                if (!tellsRows(node->inputs[0], mask, true)) return false;
                ++found;
                continue;
            }
            open.add(node->inputs);
        }
        return found == 1;
    }

    // Returns whether the value has an element for each row of the mask, and tellsRows() accepts the value.
    bool guards(int value, const Mask& mask, bool full) const {
        const Shape& keys = shapeOf(mask.value);
        const Node* node = m_graph.nodeOf(value);
        if (node && node->is("Expand") && shapeOf(value) == keys) value = node->inputs[0];
        const Shape& shape = shapeOf(value);
        if (shape.empty() || shape.size() > keys.size() || shape.back() != 1) return false;
        const size_t skip = keys.size() - shape.size();
        for (size_t k = 0; k + 1 < keys.size(); ++k)
            if (keys[k] != (k < skip ? 1 : shape[k - skip])) return false;
        return tellsRows(value, mask, full);
    }

    // Returns whether the value separates the fully hidden rows of the mask from the other rows. If `full` is
    // true, the value must be true for exactly the fully hidden rows. If `full` is false, the value must be
    // true for exactly the other rows.
    bool tellsRows(int value, const Mask& mask, bool full) const {
        bool truth = false;  // whether the value is cast to bool, so that every number but 0 is true
        for (int step = 0; step < kMostSteps; ++step) {
            const Node* node = m_graph.nodeOf(value);
            if (!node || node->inputs.empty()) return false;
            truth |= of(value).type() == Type::Bool;
            if (const auto sums = sumsOf(value, mask); sums && (truth || sums->low == sums->high))
                return sums->tell([](double sum) { return sum != 0; }, 0, full);
            if (node->inputs.size() == 2 && node->domain.empty() && compares(*node, mask, full)) return true;
            if (node->is("Not")) {
                full = !full;
            } else if (!isMove(*node) || !keepsRows(*node)) {
                return false;
            }
            value = node->inputs[0];
        }
        return false;
    }

    // Returns whether the node keeps the order of the rows. Axes of 1 element may be added or removed.
    bool keepsRows(const Node& node) const {
        const auto rows = [&](int value) {
            Shape shape = shapeOf(value);
            shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
            return shape;
        };
        return !node.is("Transpose") && rows(node.inputs[0]) == rows(node.outputs[0]);
    }

    // Returns whether the node compares the rows' sums with a limit that separates the fully hidden rows.
    bool compares(const Node& node, const Mask& mask, bool full) const {
        for (size_t k : {0, 1}) {
            double limit = 0;
            const auto sums = sumsOf(node.inputs[k], mask);
            if (!sums || !isUniform(of(node.inputs[1 - k]), limit)) continue;
            const double sign = k == 0 ? 1 : -1;
            const auto holds = [&](double sum) {
                const double over = sign * (sum - limit);
                if (node.op == "Equal") return over == 0;
                if (node.op == "Greater") return over > 0;
                if (node.op == "GreaterOrEqual") return over >= 0;
                return node.op == "Less" ? over < 0 : over <= 0;
            };
            for (const char* op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
                if (node.op == op) return sums->tell(holds, limit, full);
        }
        return false;
    }

    // Returns the possible numbers of a value that has a number for each row of the mask: the number of
    // hidden keys, the number of visible keys, whether all keys are hidden, or whether any key is visible.
    // Returns nothing for other values.
    std::optional<RowSums> sumsOf(int value, const Mask& mask) const {
        for (int step = 0; step < kMostSteps; ++step) {
            const Node* node = m_graph.nodeOf(value);
            if (!node || node->inputs.empty()) return std::nullopt;
            const bool total = node->is("ReduceSum");
            if (total || node->is("ReduceMin") || node->is("ReduceMax")) {
                const auto [root, flipped] = rootOf(node->inputs[0]);
                const auto [maskRoot, maskFlipped] = rootOf(mask.value);
                const bool same = root == maskRoot && of(root).type() == Type::Bool;
                if (!same || !reducesLastAxis(m_inferred, *node)) return std::nullopt;
                const bool hidden = mask.hides == (flipped == maskFlipped);
                const double keys = static_cast<double>(shapeOf(mask.value).back());
                if (total) return hidden ? RowSums{keys, 0, keys - 1} : RowSums{0, 1, keys};
                if (hidden != node->is("ReduceMin")) return std::nullopt;
                return hidden ? RowSums{1, 0, 0} : RowSums{0, 1, 1};
            }
            if (!isMove(*node) || !keepsRows(*node) || of(value).type() == Type::Bool) return std::nullopt;
            value = node->inputs[0];
        }
        return std::nullopt;
    }

    // Returns the value at the start of a chain of Casts and Nots, and whether the chain inverts this value.
    std::pair<int, bool> rootOf(int value) const {
        bool flipped = false;
        for (const Node* node = m_graph.nodeOf(value);
             node && (node->is("Cast") || node->is("Not") || node->is("Identity"));
             node = m_graph.nodeOf(value)) {
            flipped ^= node->is("Not");
            value = node->inputs[0];
        }
        return {value, flipped};
    }

    const Graph& m_graph;
    const Inferred& m_inferred;
};

}  // namespace

bool isUniform(const Tensor& t, double& number) {
    if (!t.known() || t.size() == 0) return false;
    number = t.at(0);
    for (int64_t k = 1; k < t.size(); ++k)
        if (t.at(k) != number) return false;
    return true;
}

bool isMove(const Node& node) {
    return node.isAny(
        {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Cast", "Transpose", "Expand", "Tile"});
}

int guardedBy(const Graph& graph, const Inferred& inferred, const Node& node, bool hides) {
    return GuardMatch(graph, inferred).guardedBy(node, hides);
}

}  // namespace mpm::models
