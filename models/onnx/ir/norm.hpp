// A norm of the model: weights, and the rule as in nodes of exports and attributes of our operators.
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

/// The rule of a standard operator; none if it is no norm.
std::optional<NormRule> ruleOf(const Node& node);

/// Attributes `epsilon` and `norm` behind a prefix, of our operators. An absent attribute is as in `usual`.
NormRule ruleFrom(const Node& own, const std::string& prefix, const NormRule& usual);
void writeRule(Node& own, const std::string& prefix, const NormRule& rule, const NormRule& usual);

/// "LayerNorm, epsilon 1e-06"
std::string describe(const NormRule& rule);

/// Inputs at which the activations of kActivations differ.
const List<float>& activationProbes();

}  // namespace mpm::models
