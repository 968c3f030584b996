#include "models/onnx/ir/rewrite.hpp"

#include <cmath>

namespace mpm::models {

void Rewriter::refresh() {
    m_users = m_graph.users();
    m_isOutput.assign(m_graph.values.size(), 0);
    for (const Port& port : m_graph.outputs)
        m_isOutput[port.value] = 1;
}

int Rewriter::soleUser(int value) const {
    return !isOutput(value) && m_users[value].size() == 1 ? m_users[value][0] : kAbsent;
}

int Rewriter::otherOperand(const Node& node, int value) {
    if (node.inputs.size() != 2) return kAbsent;
    return node.inputs[0] == value ? node.inputs[1] : node.inputs[1] == value ? node.inputs[0] : kAbsent;
}

double Rewriter::scalar(int value) const {
    if (value == kAbsent || !m_graph.isConstant(value) || m_graph.constant(value).size() != 1) return NAN;
    return m_graph.constant(value).at(0);
}

void Rewriter::takeOver(Node& node, Node& behind) {
    std::swap(node.outputs, behind.outputs);
    m_graph.values[node.outputs[0]].producer = m_graph.values[behind.outputs[0]].producer;
    behind.inputs.clear();
    refresh();
}

void Rewriter::replace(int from, int to) {
    for (int user : m_users[from]) {
        for (int& in : m_graph.nodes[user].inputs) {
            if (in == from) in = to;
        }
        m_users[to].push_back(user);
    }
    m_users[from].clear();
    for (Port& port : m_graph.outputs) {
        if (port.value != from) continue;
        port.value = to;
        m_isOutput[to] = 1;
        m_isOutput[from] = 0;
    }
}

}  // namespace mpm::models
