#include "models/onnx/ir/norm.hpp"

#include <charconv>

#include "base/printable.hpp"
#include "models/onnx/ir/list.hpp"

namespace mpm::models {

std::optional<NormRule> ruleOf(const Node& node) {
    for (const NormNames& norm : normNames())
        if (node.is(norm.onnx)) return NormRule{node.getFloat("epsilon", 1e-5f), norm.kind};
    return std::nullopt;
}

NormRule ruleFrom(const Node& own, const std::string& prefix, const NormRule& usual) {
    NormRule rule = usual;
    rule.epsilon = own.getFloat(prefix + "epsilon", usual.epsilon);
    const std::string kind = own.getString(prefix + "norm", namesOf(usual.kind).attribute);
    for (const NormNames& norm : normNames()) {
        rule.kind = norm.kind;
        if (kind == norm.attribute) return rule;
    }
    throw Refusal("norm '" + printable(kind, 80) +
                  "' is not known: the file is damaged, or of a later version");
}

void writeRule(Node& own, const std::string& prefix, const NormRule& rule, const NormRule& usual) {
    own.set(prefix + "epsilon", rule.epsilon);
    if (rule.kind != usual.kind) own.set(prefix + "norm", namesOf(rule.kind).attribute);
}

std::string describe(const NormRule& rule) {
    char text[32];  // to_chars() writes a decimal point in every locale, as JSON needs
    const auto end = std::to_chars(text, text + sizeof text, rule.epsilon, std::chars_format::general, 6).ptr;
    return std::string(namesOf(rule.kind).title) + ", epsilon " + std::string(text, end);
}

const List<float>& activationProbes() {
    static const List<float> all{-3.7f, -2.2f, -1.3f, -0.6f, -0.1f, 0.f, 0.3f, 0.9f, 1.4f, 2.1f, 2.9f, 4.2f};
    return all;
}

}  // namespace mpm::models
