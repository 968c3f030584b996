// A normalisation layer: its weights and its rule, read from a node of an export or from the attributes of an
// mpm operator.
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

/// Reads the attributes `PREFIXepsilon` and `PREFIXnorm` of an mpm operator; PREFIX is `prefix`. If an
/// attribute is missing, takes the value from `usual`.
NormRule ruleFrom(const Node& own, const std::string& prefix, const NormRule& usual);
void writeRule(Node& own, const std::string& prefix, const NormRule& rule, const NormRule& usual);

/// Returns text such as "LayerNorm, epsilon 1e-06".
std::string describe(const NormRule& rule);

/// Returns inputs at which the activations of kActivations differ.
const List<float>& activationProbes();

}  // namespace mpm::models
