#include "models/onnx/ir/graph_builder.hpp"

#include <algorithm>

namespace mpm::models {

int GraphBuilder::node(const std::string& op, const List<int>& inputs, const std::string& domain) {
    const int value = m_graph.addValue(op + "_" + std::to_string(m_graph.nodes.size()) + "_out");
    m_graph.values[value].producer = static_cast<int>(m_graph.nodes.size());
    m_graph.add(op, inputs, value, domain);
    return value;
}

int GraphBuilder::outputOf(size_t k) {
    Node& node = m_graph.nodes.back();
    const int value = m_graph.addValue(m_graph.values[node.outputs[0]].name + "_" + std::to_string(k));
    m_graph.values[value].producer = static_cast<int>(m_graph.nodes.size()) - 1;
    node.outputs.resize(std::max(node.outputs.size(), k + 1), kAbsent);
    node.outputs[k] = value;
    return value;
}

GraphBuilder& GraphBuilder::with(const std::string& name, const Attribute& attribute) {
    m_graph.nodes.back().attributes[name] = attribute;
    return *this;
}

int GraphBuilder::constant(Tensor tensor, const std::string& name) {
    return m_graph.addConstant(name, std::move(tensor));
}

int GraphBuilder::input(const std::string& name, const Shape& shape) {
    const int value = m_graph.addValue(name);
    m_graph.inputs.push_back(Port::of(value, name, Type::Float, shape));
    m_graph.inputs.back().hasShape = true;
    return value;
}

void GraphBuilder::output(int value, const std::string& name, const Shape& shape) {
    m_graph.outputs.push_back(Port::of(value, name, Type::Float, shape));
    m_graph.outputs.back().hasShape = true;
}

void GraphBuilder::integers(int value, const std::string& name, const Shape& shape) {
    output(value, name, shape);
    m_graph.outputs.back().type = Type::Int;
}

}  // namespace mpm::models
