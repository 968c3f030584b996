// The converter's representation of an ONNX graph. Values and nodes have numbers, so that no pass depends on
// names.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "models/onnx/ir/tensor.hpp"

namespace mpm::models {

struct Attribute {
    std::variant<int64_t, float, std::string, Tensor, List<float>, List<int64_t>, List<std::string>> value;

    static Attribute of(float value) { return {value}; }
    static Attribute of(int64_t value) { return {value}; }
    static Attribute of(const std::string& value) { return {value}; }
    static Attribute of(const List<int64_t>& values) { return {values}; }

    /// Returns the value, or 0 or an empty value if the attribute has another type.
    template <class Value>
    Value as() const {
        const Value* found = std::get_if<Value>(&value);
        return found ? *found : Value();
    }
};

constexpr int kAbsent = -1;

bool isOneOf(const std::string& text, std::initializer_list<const char*> words);

struct Node {
    std::string op;
    std::string domain;  ///< empty for the standard operators
    std::string name;    ///< for messages only
    List<int> inputs;    ///< numbers of values; kAbsent if an optional input is omitted
    List<int> outputs;
    std::map<std::string, Attribute> attributes;

    bool is(const char* operation) const { return domain.empty() && op == operation; }
    bool isAny(std::initializer_list<const char*> operations) const {
        return domain.empty() && isOneOf(op, operations);
    }
    bool has(const std::string& key) const { return attributes.count(key) != 0; }
    int64_t getInt(const std::string& key, int64_t fallback) const;
    float getFloat(const std::string& key, float fallback) const;
    std::string getString(const std::string& key, const std::string& fallback) const;
    List<int64_t> getInts(const std::string& key) const;
    /// Returns the attribute `axis` (default: `fallback`); adds `rank` to a negative axis.
    int64_t axis(int64_t fallback, size_t rank) const;
    template <class Value>
    Node& set(const std::string& key, const Value& value) {
        if constexpr (std::is_integral_v<Value>) {
            attributes[key] = Attribute::of(static_cast<int64_t>(value));
        } else {
            attributes[key] = Attribute::of(value);
        }
        return *this;
    }
    Node& set(const std::string& key, const List<int64_t>& values) { return set<>(key, values); }
    int input(size_t k) const { return k < inputs.size() ? inputs[k] : kAbsent; }
};

struct Value {
    std::string name;
    Tensor constant;  ///< has data if the value is an initializer or a folded constant
    int producer = kAbsent;
};

bool isLinear(const Node* node);  ///< returns whether normalise() made the node a Linear; false for null

/// An input or output of the model as declared in the file.
struct Port {
    static Port of(int value, const std::string& name = {}, Type type = Type::Float, const Shape& dims = {});

    int value = kAbsent;
    std::string name;
    Type type = Type::Float;
    bool hasShape = false;
    Shape dims;                  ///< -1 if symbolic
    List<std::string> dimNames;  ///< names of symbolic axes
};

/// A stack of values to visit, which returns each value only once.
class OpenValues {
public:
    explicit OpenValues(const List<int>& first) : m_open(first) {}

    /// Takes the next value. Returns false if none is left. Throws BudgetError after the time limit.
    bool next(int& value);
    void add(int value) { m_open.push_back(value); }  ///< next() skips kAbsent
    void add(const List<int>& values) { m_open.insert(m_open.end(), values.begin(), values.end()); }
    std::set<int>& seen() { return m_seen; }

private:
    List<int> m_open;
    std::set<int> m_seen;
};

class Held;

struct Graph {
    List<Value> values;
    List<Node> nodes;  ///< in topological order
    List<Port> inputs;
    List<Port> outputs;
    int opset = 0;
    std::map<std::string, std::string> metadata;
    std::string producer;
    std::shared_ptr<Held> held;  ///< charges the memory of the graph, except its tensors, to the job

    int addValue(const std::string& name);
    int addConstant(const std::string& name, Tensor tensor);
    /// Adds a node at the end. The caller must then call sort(), which moves the node and sets producers. The
    /// returned reference is valid until the next node is added.
    Node& add(const std::string& op, const List<int>& inputs, int output, const std::string& domain = {},
              const std::string& name = {});
    /// Makes the producer of the value write a new, unused value instead. Another node may then produce the
    /// value.
    void release(int value);
    bool isConstant(int value) const { return value != kAbsent && values[value].constant.known(); }
    const Tensor& constant(int value) const { return values[value].constant; }
    const Node* nodeOf(int value) const;
    std::string describe(const Node& node) const;  ///< "Softmax '/blocks.0/attn/Softmax'"

    void sort();  ///< sorts topologically; throws Refusal on a cycle
    /// Removes nodes that no output needs, and renumbers producers.
    void prune();
    void arrange() {  ///< must be called after nodes were added or became unused
        sort();
        prune();
    }
    List<List<int>> users() const;  ///< for each value, the nodes that read it

private:
    void numberProducers();
};

}  // namespace mpm::models
