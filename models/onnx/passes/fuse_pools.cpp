#include "models/onnx/passes/passes.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

// The nodes that compute the value `exit` from the value `image`. Of the results of these nodes, nodes
// outside of the region read only `exit`.
struct Region {
    int image = kAbsent, exit = kAbsent;
    List<int> nodes;
};

class PoolFuser {
    // Limits: elements of the product's weight, evaluations to find the weight, multiplications to check it.
    static constexpr int64_t kLargestWeight = 1 << 22, kMostEvaluations = 256, kProducts = 1 << 26;
    static constexpr int kLongestChain = 12;  // nodes from the image to the node for which isStart() is true

public:
    PoolFuser(Graph& graph, const Inferred& inferred) : m_graph(graph), m_inferred(inferred) {}

    void run() {
        const size_t count = m_graph.nodes.size();
        for (size_t n = 0; n < count; ++n)
            fuse(static_cast<int>(n));
        m_graph.arrange();
    }

private:
    static bool isLinear(const Node& node) {
        static const std::set<std::string> ops{"Add",       "Cast",       "Concat",    "Div",      "Flatten",
                                               "Gather",    "GatherND",   "Identity",  "Mul",      "Reshape",
                                               "Slice",     "Split",      "Squeeze",   "Sub",      "Where",
                                               "Unsqueeze", "ReduceMean", "ReduceSum", "Transpose"};
        return node.domain.empty() && ops.count(node.op) != 0;
    }

    const Tensor& at(int value) const {
        static const Tensor none;
        return static_cast<size_t>(value) < m_inferred.values.size() ? m_inferred.values[value] : none;
    }

    static bool isMap(const Tensor& x) { return x.isFloat() && x.rank() == 4 && x.size() > 0; }

    bool known(int value) const { return value == kAbsent || at(value).known(); }

    // Returns whether the node reads pixels at constant places, or chooses elements by a constant condition.
    bool isStart(const Node& node) const {
        if (node.outputs.empty() || !at(node.outputs[0]).isFloat()) return false;
        if (node.is("GatherND")) return known(node.input(1));
        if (node.is("Gather")) return known(node.input(1)) && at(node.input(1)).rank() > 1;
        return node.is("Where") && known(node.input(0)) && known(node.input(1)) != known(node.input(2));
    }

    // Tries the 4-dimensional values in front of the node as the image, the nearest value first.
    void fuse(int n) {
        checkTime();
        if (!isStart(m_graph.nodes[n])) return;
        List<int> chain{n};
        for (int step = 0; step < kLongestChain; ++step) {
            const int image = onlyInput(m_graph.nodes[chain.back()]);
            if (image == kAbsent) return;
            if (isMap(at(image)) && fuse({image, kAbsent, {chain.rbegin(), chain.rend()}})) return;
            const int before = m_graph.values[image].producer;
            if (before < 0 || !isLinear(m_graph.nodes[before])) return;
            chain.push_back(before);
        }
    }

    // Fuses the nodes that depend on any node of `first`. If that fails, fuses only the nodes that depend on
    // the last node of `first`, because two pools may share the other nodes of `first`.
    bool fuse(const Region& first) {
        return fuse(first, first.nodes.size()) || (first.nodes.size() > 1 && fuse(first, 1));
    }

    // Adds the nodes that depend on the last `roots` nodes of the region, then replaces the region with
    // a product. Returns false if a product cannot replace the region.
    bool fuse(Region region, size_t roots) {
        complete(region, roots);
        if (region.exit == kAbsent || !isMap(at(region.exit))) return false;
        const Shape &from = at(region.image).shape(), &to = at(region.exit).shape();
        if (from[0] != to[0] || from[1] != to[1]) return false;
        if (elementCount({from[2], from[3], to[2], to[3]}) > kLargestWeight) return false;
        if (elementCount({from[2], from[3]}) / elementCount({from[0], from[1]}) > kMostEvaluations)
            return false;
        const Tensor weight = weightOf(region);
        if (!isProduct(region, weight)) return false;
        replace(region, weight);
        return true;
    }

    int onlyInput(const Node& node) const {
        int found = kAbsent;
        for (int value : node.inputs) {
            if (known(value)) continue;
            if (found != kAbsent) return kAbsent;
            found = value;
        }
        return found;
    }

    // Adds the nodes that depend on the last `roots` nodes of the region, and finds the exit.
    void complete(Region& region, size_t roots) const {
        std::set<int> inside;
        for (size_t k = region.nodes.size() - roots; k < region.nodes.size(); ++k) {
            const List<int>& outputs = m_graph.nodes[region.nodes[k]].outputs;
            inside.insert(outputs.begin(), outputs.end());
        }
        for (int k = region.nodes.back() + 1; k < static_cast<int>(m_graph.nodes.size()); ++k) {
            const Node& node = m_graph.nodes[k];
            if (!isLinear(node) || !follows(node, inside)) continue;
            region.nodes.push_back(k);
            inside.insert(node.outputs.begin(), node.outputs.end());
        }
        region.exit = exitOf(region, inside);
    }

    bool follows(const Node& node, const std::set<int>& inside) const {
        const auto isInside = [&](int value) { return inside.count(value) != 0; };
        return std::any_of(node.inputs.begin(), node.inputs.end(), isInside) &&
               std::all_of(node.inputs.begin(), node.inputs.end(),
                           [&](int value) { return isInside(value) || known(value); });
    }

    int exitOf(const Region& region, const std::set<int>& inside) const {
        std::set<int> exits;
        const std::set<int> nodes(region.nodes.begin(), region.nodes.end());
        for (size_t k = 0; k < m_graph.nodes.size(); ++k) {
            if (nodes.count(static_cast<int>(k))) continue;
            for (int value : m_graph.nodes[k].inputs)
                if (inside.count(value)) exits.insert(value);
        }
        for (const Port& port : m_graph.outputs)
            if (inside.count(port.value)) exits.insert(port.value);
        return exits.size() == 1 ? *exits.begin() : kAbsent;
    }

    Tensor evaluated(const Region& region, const Tensor& image) const {
        Graph part;
        part.opset = m_graph.opset;
        part.values = m_graph.values;
        for (int n : region.nodes) {
            part.nodes.push_back(m_graph.nodes[n]);
            for (int value : m_graph.nodes[n].inputs)
                if (value != kAbsent && at(value).known()) part.values[value].constant = at(value);
        }
        part.inputs = {Port::of(region.image)};
        part.outputs = {Port::of(region.exit)};
        return models::evaluate(part, {image})[0];
    }

    // Returns the product's weight. Row k is the result for an image in which only pixel k is 1. Each channel
    // has its 1 at another pixel, so an evaluation gives a row for each channel.
    Tensor weightOf(const Region& region) const {
        const Shape& shape = at(region.image).shape();
        const int64_t pixels = elementCount({shape[2], shape[3]}),
                      planes = elementCount({shape[0], shape[1]});
        const int64_t columns = at(region.exit).size() / planes;
        Tensor weight = Tensor::zeros(Type::Float, {pixels, columns});
        for (int64_t first = 0; first < pixels; first += planes) {
            checkTime();
            const int64_t count = std::min(planes, pixels - first);
            Tensor image = Tensor::floats(shape);
            for (int64_t k = 0; k < count; ++k)
                image.writeF()[k * pixels + first + k] = 1;
            const Tensor result = evaluated(region, image);
            std::copy_n(result.f().data(), count * columns, weight.writeF().data() + first * columns);
        }
        return weight;
    }

    // Returns whether the weight also gives the right result for another image. If so, the nodes mix no
    // channels and add no constants.
    bool isProduct(const Region& region, const Tensor& weight) const {
        const int64_t pixels = weight.dim(0), columns = weight.dim(1);
        Tensor image = Tensor::floats(at(region.image).shape());
        for (int64_t k = 0; k < image.size(); ++k)
            image.writeF()[k] = static_cast<float>((k * 7919 + k / pixels) % 31 - 15) / 8.f;
        const Tensor result = evaluated(region, image);
        const int64_t step = 1 + checkedProduct<int64_t>(result.size(), pixels) / kProducts;
        for (int64_t k = 0; k < result.size(); k += step) {
            double sum = 0, size = 1;
            for (int64_t p = 0; p < pixels; ++p) {
                const double term =
                    double{image.f()[k / columns * pixels + p]} * weight.f()[p * columns + k % columns];
                sum += term;
                size += std::abs(term);
            }
            if (!(std::abs(sum - result.f()[k]) <= 1e-5 * size)) return false;
        }
        return true;
    }

    void replace(const Region& region, const Tensor& weight) {
        const Shape& to = at(region.exit).shape();
        const auto constant = [&](const char* name, const Tensor& value) {
            return m_graph.addConstant(name, value);
        };
        const int pixels = emit("Reshape", {region.image, constant("pixels", Tensor::vector({0, 0, -1}))});
        const int pooled = emit("MatMul", {pixels, constant("pool", weight)});
        m_graph.release(region.exit);
        emit("Reshape", {pooled, constant("size", Tensor::vector({0, 0, to[2], to[3]}))}, region.exit);
    }

    int emit(const std::string& op, const List<int>& inputs, int output = kAbsent) {
        const int to = output == kAbsent ? m_graph.addValue("pool." + op) : output;
        m_graph.add(op, inputs, to, {}, "pool." + op);
        return to;
    }

    Graph& m_graph;
    const Inferred& m_inferred;
};

}  // namespace

void fusePools(Graph& graph, const Inferred& inferred) {
    PoolFuser(graph, inferred).run();
}

}  // namespace mpm::models
