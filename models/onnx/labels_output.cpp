#include "models/onnx/labels_output.hpp"

namespace mpm::models {

void outputLabels(Graph& graph) {
    Port& port = graph.outputs[0];
    if (port.dims.size() != 4 || port.dims[1] < 2) {
        throw Refusal("labels need scores [batch, classes, height, width], but output '" + port.name +
                      "' is " + toString(port.dims) + ": convert without --output labels");
    }
    const Node* last = graph.nodeOf(port.value);
    const bool resized = last && last->op == "MpmResize" && graph.users()[port.value].empty();
    if (resized) {
        graph.nodes[graph.values[port.value].producer].attributes["argmax"] = Attribute::of(int64_t{1});
    } else {
        Node node;
        node.op = "MpmResize";
        node.domain = "mpm";
        node.name = "labels";
        node.inputs = {port.value};
        node.outputs = {graph.addValue(port.name + ".labels")};
        node.attributes["size"] = Attribute::of(std::vector<int64_t>{port.dims[2], port.dims[3]});
        node.attributes["argmax"] = Attribute::of(int64_t{1});
        port.value = node.outputs[0];
        graph.nodes.push_back(node);
        graph.sort();
    }
    port.dims[1] = 1;
    port.type = Type::Int;
}

}  // namespace mpm::models
