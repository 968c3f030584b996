// Operations on a graph that all rewriting passes need.
#pragma once

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

class Rewriter {
public:
    explicit Rewriter(Graph& graph) : m_graph(graph) { refresh(); }

    void refresh();  ///< must be called after nodes were added or removed
    bool isOutput(int value) const { return m_isOutput[value] != 0; }
    const List<int>& usersOf(int value) const { return m_users[value]; }
    /// Returns the only node that reads the value; kAbsent for no or several readers, and for an output.
    int soleUser(int value) const;
    /// If a node has two operands and one is `value`, returns the other operand; else kAbsent.
    static int otherOperand(const Node& node, int value);
    /// Returns the value of a constant with 1 element; NaN otherwise.
    double scalar(int value) const;
    /// Makes all readers of `from` read `to` instead. Outputs of the graph keep their names.
    void replace(int from, int to);
    /// Makes `node` produce the outputs of `behind`, and disconnects `behind`.
    void takeOver(Node& node, Node& behind);

private:
    Graph& m_graph;
    List<List<int>> m_users;
    List<char> m_isOutput;
};

constexpr int kLatestDomainVersion = 3;

/// Returns the lowest version of the domain `mpm` that has all operators, inputs and attributes of the graph.
int domainVersion(const Graph& graph);

}  // namespace mpm::models
