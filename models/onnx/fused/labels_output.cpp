#include "models/onnx/fused/insert.hpp"

namespace mpm::models {

namespace {

// If a Slice crops the resized scores, makes the resize compute only the part that the Slice keeps. Models
// that pad the image have such a Slice.
void cropWhileResizing(Graph& graph) {
    const Port& port = graph.outputs[0];
    const List<List<int>> users = graph.users();
    int value = port.value;
    for (const Node* node = graph.nodeOf(value); node && node->is("Slice"); node = graph.nodeOf(value)) {
        const List<int64_t> starts = graph.constant(node->inputs[1]).toInts(),
                            axes = graph.constant(node->inputs[3]).toInts();
        for (size_t k = 0; k < starts.size(); ++k) {
            if (starts[k] != 0 || axes[k] < 2) return;
        }
        value = node->inputs[0];
        if (users[value].size() != 1) return;
    }
    const Node* resize = graph.nodeOf(value);
    if (value == port.value || !resize || resize->op != "MpmResize") return;
    Node& node = graph.nodes[graph.values[value].producer];
    node.set("crop", {port.dims[2], port.dims[3]});
    graph.nodes[graph.values[port.value].producer].outputs[0] = graph.addValue("unused");
    node.outputs[0] = port.value;
    graph.arrange();
}

// Adds the labels as the last node, because some programs read the output of the last node.
void combineQueries(Graph& graph, const QueryOutputs& queries) {
    Port& masks = graph.outputs[queries.masks];
    const Shape& image = graph.inputs[0].dims;
    const Shape size{image[2], image[3]};
    const int labels = graph.addValue(masks.name + ".labels");
    graph.add("MpmMaskLabels", {masks.value, graph.outputs[queries.classes].value}, labels, "mpm", "labels")
        .set("size", size);
    masks.value = labels;
    masks.dims = {masks.dims[0], 1, size[0], size[1]};
    masks.type = Type::Int;
    graph.sort();
}

}  // namespace

std::optional<QueryOutputs> queryOutputs(const Graph& graph) {
    std::optional<QueryOutputs> found;
    for (size_t m = 0; m < graph.outputs.size(); ++m) {
        for (size_t c = 0; c < graph.outputs.size(); ++c) {
            const Port &masks = graph.outputs[m], &classes = graph.outputs[c];
            const bool fits = masks.type == Type::Float && classes.type == Type::Float &&
                              masks.dims.size() == 4 && classes.dims.size() == 3 && masks.dims[1] > 0 &&
                              masks.dims[1] == classes.dims[1] && masks.dims[0] == classes.dims[0] &&
                              classes.dims[2] > 1;
            if (!fits) continue;
            if (found) return std::nullopt;
            found = QueryOutputs{m, c};
        }
    }
    return found;
}

void outputLabels(Graph& graph) {
    if (const auto queries = queryOutputs(graph)) return combineQueries(graph, *queries);
    if (labelQueryScores(graph)) return;
    Port& port = graph.outputs[0];
    if (port.dims.size() != 4 || port.dims[1] < 2) {
        throw Refusal("labels need scores [batch, classes, height, width], but output '" + port.name +
                      "' is " + toString(port.dims) + ": convert without --output labels");
    }
    cropWhileResizing(graph);
    const Node* last = graph.nodeOf(port.value);
    const bool resized = last && last->op == "MpmResize" && graph.users()[port.value].empty();
    if (resized) {
        graph.nodes[graph.values[port.value].producer].set("argmax", 1);
    } else {
        const int labels = graph.addValue(port.name + ".labels");
        graph.add("MpmResize", {port.value}, labels, "mpm", "labels")
            .set("size", {port.dims[2], port.dims[3]})
            .set("argmax", 1);
        port.value = labels;
        graph.sort();
    }
    port.dims[1] = 1;
    port.type = Type::Int;
}

}  // namespace mpm::models
