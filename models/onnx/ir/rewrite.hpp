// Small questions a rewriting step asks of a graph again and again.
#pragma once

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

class Rewriter {
public:
    explicit Rewriter(Graph& graph) : m_graph(graph) { refresh(); }

    void refresh();  ///< after nodes were added or removed
    bool isOutput(int value) const { return m_isOutput[value] != 0; }
    const List<int>& usersOf(int value) const { return m_users[value]; }
    /// The one node that reads the value; kAbsent where there are more, or where the value leaves the graph.
    int soleUser(int value) const;
    /// The other operand where the node has two and one of them is `value`.
    static int otherOperand(const Node& node, int value);
    /// The constant behind a value where it has one element; NaN otherwise.
    double scalar(int value) const;
    /// Everything that read `from` reads `to`; an output of the graph keeps its name by name of the port.
    void replace(int from, int to);

private:
    Graph& m_graph;
    List<List<int>> m_users;
    List<char> m_isOutput;
};

}  // namespace mpm::models
