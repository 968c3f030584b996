// A class that builds a graph node by node.
#pragma once

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

class GraphBuilder {
public:
    explicit GraphBuilder(int opset) { m_graph.opset = opset; }

    /// Adds a node with a single output and returns the output.
    int node(const std::string& op, const List<int>& inputs, const std::string& domain = {});
    /// Adds output `k` to the last added node. Outputs before `k` that were not added are absent.
    int outputOf(size_t k);
    /// Sets an attribute of the last added node.
    GraphBuilder& with(const std::string& name, const Attribute& attribute);

    int constant(Tensor tensor, const std::string& name = "constant");
    int ints(const List<int64_t>& values) { return constant(Tensor::vector(values), "ints"); }
    int number(float value) { return constant(Tensor::scalar(value), "number"); }

    /// Adds an f32 input or output to the graph.
    int input(const std::string& name, const Shape& shape);
    void output(int value, const std::string& name, const Shape& shape);
    void integers(int value, const std::string& name, const Shape& shape);  ///< adds an int64 output
    void metadata(const std::string& key, const std::string& value) { m_graph.metadata[key] = value; }

    const Graph& graph() const { return m_graph; }

private:
    Graph m_graph;
};

}  // namespace mpm::models
