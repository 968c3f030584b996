// A norm of the model: weights, and the rule from a node of an export or the attributes of an mpm operator.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/activation.hpp"
#include "base/norm_rule.hpp"
#include "models/onnx/ir/graph.hpp"
#include "models/onnx/ir/list.hpp"

namespace mpm::models {

struct Norm {
    Tensor weight;  ///< without data if there is no norm
    Tensor bias;    ///< optional
    NormRule rule;
    bool present() const { return weight.known(); }
};

/// Returns the rule of a standard operator; empty if the node is not a norm.
std::optional<NormRule> ruleOf(const Node& node);

/// Reads `epsilon` and `norm`, behind a prefix, of an mpm operator. Absent attributes are as in `usual`.
NormRule ruleFrom(const Node& own, const std::string& prefix, const NormRule& usual);
void writeRule(Node& own, const std::string& prefix, const NormRule& rule, const NormRule& usual);

/// Returns a text such as "LayerNorm, epsilon 1e-06".
std::string describe(const NormRule& rule);

/// Inputs at which the activations of kActivations differ.
const List<float>& activationProbes();

}  // namespace mpm::models
