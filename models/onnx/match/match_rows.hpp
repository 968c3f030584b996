// Shared by the matchers: the row of the residual stream that a row of a tensor belongs to.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/trace/joined_linear.hpp"
#include "models/onnx/trace/trace.hpp"

namespace mpm::models {

/// Why a part of the graph does not match. Caught inside the matchers.
struct Mismatch {
    std::string reason;
    bool masked = false;    ///< the image decides which keys a token attends to
    bool relative = false;  ///< its scores contain relative positions
};

/// An attention that is not part of an encoder.
struct Unmatched {
    int value = -1;  ///< its probabilities
    Mismatch why;
};

class RowMatcher {
public:
    RowMatcher(const Graph& graph, const Inferred& inferred);

    const Graph& graph() const { return m_graph; }
    const Inferred& inferred() const { return m_inferred; }
    const Shape& shapeOf(int value) const { return m_inferred.values[value].shape(); }
    const List<int>& usersOf(int value) const { return m_users[value]; }
    enum class Step { Found, Follow, Skip };
    /// The first node after `value` that `visit` finds, beyond those it follows; kAbsent if there is none.
    int downstream(int value, const std::function<Step(int node)>& visit) const;
    /// All values that a value is computed from, and itself.
    std::set<int> upstream(int value) const;
    /// A sum or choice by which a comparison that depends on the image drops scores.
    bool isMask(const Node& node) const;
    bool isOutput(int value) const { return m_isOutput[value] != 0; }
    bool isLinear(const Node* node) const { return models::isLinear(node); }
    bool isNorm(const Node* node) const;
    std::string describe(int value) const;

    Norm normOf(const Node& node) const;
    Dense denseOf(const Node& linear) const { return models::denseOf(m_graph, linear); }

    static constexpr int32_t kPadded = -1;
    struct Normed {
        int norm = kAbsent;  ///< node
        List<int32_t> rows;  ///< row of the norm's input by row of the value; kPadded for a row of zeros
    };
    /// A value that is a norm's result, its rows perhaps in another order.
    Normed normBehind(int value) const;

    struct Branch {
        int linear = kAbsent;          ///< node; absent if several layers together are one
        int input = kAbsent;           ///< value that the layer reads
        Dense dense;                   ///< its weights
        List<int32_t> rows;            ///< row of the linear's result by row of the value
        List<float> factor, constant;  ///< by column
    };
    /// A value that is a Linear's result, perhaps scaled and shifted by column, rows perhaps in another
    /// order. Several layers that read the same rows may be joined to it.
    Branch linearBehind(int value) const;

private:
    List<int32_t> rowNumbers(int value) const;
    Branch branchOf(int value, const Trace& traced) const;

    const Graph& m_graph;
    const Inferred& m_inferred;
    List<List<int>> m_users;
    List<char> m_isOutput;
};

bool close(float a, float b);  ///< equal up to rounding of f32

}  // namespace mpm::models
