// Selections by score, which a proof must impose: where two scores are closer than the rounding, both orders
// are right, and everything behind them differs.
#pragma once

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

/// The TopK nodes of an export whose indices pick something, in the order of the graph.
class Selections {
public:
    explicit Selections(const Graph& original);

    bool empty() const { return m_all.empty(); }
    size_t count() const { return m_all.size(); }
    const std::string& nameOf(size_t selection) const { return m_all[selection].name; }
    int64_t axisOf(size_t selection) const { return m_all[selection].axis; }

    /// The original with more outputs behind its own: scores and indices of each selection, then everything
    /// that is picked from.
    Graph observed(Graph original) const;

    /// A converted graph that computes with given indices, f32: an input for each selection, behind its own.
    /// Its outputs are those of observed() as far as it has them, the indices being its own choice. `added`
    /// are those that the original has behind its own. Throws Refusal if it lacks scores or indices.
    Graph imposed(const Graph& converted, const List<Tensor>& added) const;

private:
    struct Selection {
        std::string name;  // of the node, for messages
        std::string scoresName, indicesName;
        int scores = kAbsent, indices = kAbsent;
        int64_t axis = -1;
    };
    struct Value {
        std::string name;
        int id = kAbsent;
    };

    void addPickedFrom(const Graph& graph, int indices);

    List<Selection> m_all;
    List<Value> m_rows;
};

/// How the choice of one selection along an axis differs from the original's.
struct Choice {
    int64_t different = 0;  ///< places
    bool right = true;  ///< the scores at these places differ by no more than twice the largest difference of
                        ///< a score
};
Choice compareChoices(const Tensor& scores, const Tensor& indices, const Tensor& foundScores,
                      const Tensor& foundIndices, int64_t axis);

}  // namespace mpm::models
