#include "models/onnx/ir/graph.hpp"

#include <algorithm>

#include "base/printable.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {

bool isOneOf(const std::string& text, std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&](const char* word) { return text == word; });
}

int64_t Node::getInt(const std::string& key, int64_t fallback) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? fallback : found->second.as<int64_t>();
}

float Node::getFloat(const std::string& key, float fallback) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? fallback : found->second.as<float>();
}

std::string Node::getString(const std::string& key, const std::string& fallback) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? fallback : found->second.as<std::string>();
}

List<int64_t> Node::getInts(const std::string& key) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? List<int64_t>{} : found->second.as<List<int64_t>>();
}

int64_t Node::axis(int64_t fallback, size_t rank) const {
    const int64_t given = getInt("axis", fallback);
    return given < 0 ? given + static_cast<int64_t>(rank) : given;
}

int Graph::addValue(const std::string& name) {
    values.push_back({name, {}, kAbsent});
    return static_cast<int>(values.size()) - 1;
}

int Graph::addConstant(const std::string& name, Tensor tensor) {
    const int value = addValue(name);
    values[value].constant = std::move(tensor);
    return value;
}

Node& Graph::add(const std::string& op, const List<int>& inputs, int output, const std::string& domain,
                 const std::string& name) {
    nodes.push_back({op, domain, name, inputs, {output}, {}});
    return nodes.back();
}

void Graph::release(int value) {
    for (Node& node : nodes)
        for (int& out : node.outputs)
            if (out == value) out = addValue("unused");
}

void Graph::numberProducers() {
    for (Value& value : values)
        value.producer = kAbsent;
    for (size_t n = 0; n < nodes.size(); ++n) {
        for (int out : nodes[n].outputs) {
            if (out != kAbsent) values[out].producer = static_cast<int>(n);
        }
    }
}

const Node* Graph::nodeOf(int value) const {
    if (value == kAbsent || values[value].producer == kAbsent) return nullptr;
    return &nodes[values[value].producer];
}

bool isLinear(const Node* node) {
    return node && node->domain == "mpm.internal" && node->op == "Linear";
}

Port Port::of(int value, const std::string& name, Type type, const Shape& dims) {
    Port port;
    port.value = value;
    port.name = name;
    port.type = type;
    port.dims = dims;
    return port;
}

bool OpenValues::next(int& value) {
    while (!m_open.empty()) {
        value = m_open.back();
        m_open.pop_back();
        if (m_seen.size() % 1024 == 0) checkTime();
        if (value != kAbsent && m_seen.insert(value).second) return true;
    }
    return false;
}

std::string Graph::describe(const Node& node) const {
    std::string name = node.name;
    if (name.empty() && !node.outputs.empty() && node.outputs[0] != kAbsent)
        name = values[node.outputs[0]].name;
    return printable(node.op, 80) + " '" + printable(name, 200) + "'";
}

void Graph::sort() {
    const size_t count = nodes.size();
    List<int> producer(values.size(), kAbsent);
    for (size_t n = 0; n < count; ++n) {
        for (int out : nodes[n].outputs) {
            if (out == kAbsent) continue;
            if (producer[out] != kAbsent || values[out].constant.known()) {
                throw Refusal("value '" + printable(values[out].name, 200) +
                              "' is produced twice: the file is damaged");
            }
            producer[out] = static_cast<int>(n);
        }
    }
    List<int> missing(count, 0);
    List<List<int>> next(count);
    for (size_t n = 0; n < count; ++n) {
        for (int in : nodes[n].inputs) {
            if (in == kAbsent || producer[in] == kAbsent) continue;
            next[producer[in]].push_back(static_cast<int>(n));
            ++missing[n];
        }
    }
    List<int> order;
    for (size_t n = 0; n < count; ++n) {
        if (missing[n] == 0) order.push_back(static_cast<int>(n));
    }
    for (size_t k = 0; k < order.size(); ++k) {
        for (int n : next[order[k]]) {
            if (--missing[n] == 0) order.push_back(n);
        }
    }
    if (order.size() != count) throw Refusal("the graph has a cycle: the file is damaged");
    List<Node> sorted;
    sorted.reserve(count);
    for (int n : order)
        sorted.push_back(std::move(nodes[n]));
    nodes = std::move(sorted);
    numberProducers();
}

void Graph::prune() {
    List<char> needed(values.size(), 0);
    for (const Port& port : outputs)
        needed[port.value] = 1;
    List<char> keep(nodes.size(), 0);
    for (size_t k = nodes.size(); k-- > 0;) {
        for (int out : nodes[k].outputs)
            keep[k] |= out != kAbsent && needed[out];
        if (!keep[k]) continue;
        for (int in : nodes[k].inputs) {
            if (in != kAbsent) needed[in] = 1;
        }
    }
    List<Node> kept;
    for (size_t k = 0; k < nodes.size(); ++k) {
        if (keep[k]) kept.push_back(std::move(nodes[k]));
    }
    nodes = std::move(kept);
    for (size_t v = 0; v < values.size(); ++v)
        if (!needed[v]) values[v].constant = {};
    numberProducers();
}

List<List<int>> Graph::users() const {
    List<List<int>> result(values.size());
    for (size_t n = 0; n < nodes.size(); ++n) {
        for (int in : nodes[n].inputs) {
            if (in == kAbsent) continue;
            List<int>& list = result[in];
            if (list.empty() || list.back() != static_cast<int>(n)) list.push_back(static_cast<int>(n));
        }
    }
    return result;
}

}  // namespace mpm::models
