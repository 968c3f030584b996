#include "models/torch/files/pickle.hpp"

#include <cstring>

#include "models/torch/files/file_error.hpp"

namespace mpm::models {
namespace {

using Kind = Pickled::Kind;

// A value takes far more memory than its bytes in the file, and an opcode of two bytes can copy a stored
// value. Without these limits, a small file could need much memory and time. Real models need far less.
constexpr size_t kMaxValues = 1000000, kMaxPlace = 1000, kMaxShape = 8;

std::vector<int64_t> integers(PickledPtr value) {
    demand(value->kind == Kind::Sequence && value->items.size() <= kMaxShape,
           "pickle: a tensor's shape must be a tuple of at most ", kMaxShape, " dimensions");
    std::vector<int64_t> numbers;
    for (const auto& item : value->items) {
        demand(item->kind == Kind::Int, "pickle: a tensor's shape must hold integers");
        numbers.push_back(item->number);
    }
    return numbers;
}

class Machine {
public:
    explicit Machine(std::string_view bytes) : m_bytes(bytes) {}
    Pickle run();

private:
    PickledPtr make(Kind kind);
    uint64_t little(uint64_t count) { return littleEndian(take(count)); }
    std::string_view take(uint64_t count);
    std::string line();
    void push(PickledPtr value) { m_stack.push_back(value); }
    PickledPtr pop();
    std::vector<PickledPtr> popToMark();
    std::vector<PickledPtr> popLast(size_t count);
    void pushNumber(Kind kind, int64_t number);
    void pushFloat();
    void pushGlobal();
    void pushText(uint64_t length);
    void pushTuple(std::vector<PickledPtr> items);
    void longInteger();
    void get(uint64_t index);
    void put(uint64_t index);
    void setItems(const std::vector<PickledPtr>& flat);
    void append(const std::vector<PickledPtr>& items);
    void reduce();
    void build();
    void persistent();
    using Operation = void (*)(Machine&);
    static const std::map<unsigned char, Operation>& operations();

    std::string_view m_bytes;
    Pickle m_pickle;
    size_t m_at = 0;
    std::vector<PickledPtr> m_stack;
    std::vector<size_t> m_marks;
    std::map<uint64_t, PickledPtr> m_memo;
};

PickledPtr Machine::make(Kind kind) {
    demand(m_pickle.values.size() < kMaxValues, "pickle: more values than a file of weights has");
    m_pickle.values.emplace_back().kind = kind;
    return &m_pickle.values.back();
}

std::string_view Machine::take(uint64_t count) {
    demand(count <= m_bytes.size() - m_at, "pickle ends early");
    const auto part = m_bytes.substr(m_at, count);
    m_at += count;
    return part;
}

std::string Machine::line() {
    const size_t end = m_bytes.find('\n', m_at);
    demand(end != std::string_view::npos && end - m_at < 1000, "pickle: a name has no end");
    const std::string text(m_bytes.substr(m_at, end - m_at));
    m_at = end + 1;
    return text;
}

PickledPtr Machine::pop() {
    demand(!m_stack.empty() && (m_marks.empty() || m_stack.size() > m_marks.back()),
           "pickle: the stack is empty");
    const auto value = m_stack.back();
    m_stack.pop_back();
    return value;
}

std::vector<PickledPtr> Machine::popToMark() {
    demand(!m_marks.empty() && m_marks.back() <= m_stack.size(), "pickle: a mark is missing");
    const auto first = m_stack.begin() + static_cast<std::ptrdiff_t>(m_marks.back());
    std::vector<PickledPtr> items(first, m_stack.end());
    m_stack.erase(first, m_stack.end());
    m_marks.pop_back();
    return items;
}

std::vector<PickledPtr> Machine::popLast(size_t count) {
    std::vector<PickledPtr> items(count);
    for (size_t i = count; i > 0; --i)
        items[i - 1] = pop();
    return items;
}

void Machine::pushText(uint64_t length) {
    push(make(Kind::Text));
    m_stack.back()->text = std::string(take(length));
}

void Machine::pushTuple(std::vector<PickledPtr> items) {
    push(make(Kind::Sequence));
    m_stack.back()->items = std::move(items);
}

void Machine::longInteger() {
    const auto bytes = take(little(1));
    demand(bytes.size() <= 8, "pickle: an integer does not fit 64 bits");
    uint64_t value = littleEndian(bytes);
    const bool negative = !bytes.empty() && (bytes.back() & 0x80) != 0;
    if (negative && bytes.size() < 8) value |= ~uint64_t{0} << (8 * bytes.size());
    pushNumber(Kind::Int, static_cast<int64_t>(value));
}

void Machine::setItems(const std::vector<PickledPtr>& flat) {
    demand(flat.size() % 2 == 0 && !m_stack.empty(), "pickle: a dictionary is damaged");
    auto& target = *m_stack.back();
    demand(target.kind == Kind::Dictionary || target.kind == Kind::Opaque,
           "pickle: items for a value that is not a dictionary");
    for (size_t i = 0; i < flat.size(); i += 2)
        target.map.emplace_back(flat[i], flat[i + 1]);
}

void Machine::append(const std::vector<PickledPtr>& items) {
    demand(!m_stack.empty(), "pickle: a list is missing");
    auto& target = *m_stack.back();
    demand(target.kind == Kind::Sequence || target.kind == Kind::Opaque,
           "pickle: items for a value that is not a list");
    target.items.insert(target.items.end(), items.begin(), items.end());
}

/// Reads a call without executing it. Recognises by name OrderedDict, functions that make a tensor, and
/// functions that return their argument. Any other call gives an opaque value.
void Machine::reduce() {
    const auto arguments = pop(), callee = pop();
    demand(arguments->kind == Kind::Sequence, "pickle: a call without arguments");
    const auto& items = arguments->items;
    const std::string name = callee->kind == Kind::Global ? callee->text : "";
    if (name == "collections OrderedDict") return push(make(Kind::Dictionary));
    const bool passesOn =
        name == "torch._utils _rebuild_parameter" || name == "torch.jit._pickle restore_type_tag";
    if (passesOn && !items.empty()) return push(items[0]);
    if (name != "torch._utils _rebuild_tensor_v2") return push(make(Kind::Opaque));
    demand(items.size() >= 4 && items[0]->kind == Kind::Storage && items[1]->kind == Kind::Int,
           "pickle: a tensor is damaged");
    const auto tensor = make(Kind::Tensor);
    tensor->text = items[0]->text;
    tensor->key = items[0]->key;
    tensor->offset = items[1]->number;
    tensor->shape = integers(items[2]);
    tensor->stride = integers(items[3]);
    push(tensor);
}

/// If the state of an opaque object is a dictionary, and the object has no entries yet, moves the
/// dictionary's entries to the object's map. Otherwise ignores the state.
void Machine::build() {
    const auto state = pop();
    demand(!m_stack.empty(), "pickle: an object is missing");
    auto& object = *m_stack.back();
    if (object.kind == Kind::Opaque && state->kind == Kind::Dictionary && object.map.empty())
        object.map.swap(state->map);
}

/// Reads the identifier of a storage: ('storage', type, key, device, count).
void Machine::persistent() {
    const auto id = pop();
    demand(id->kind == Kind::Sequence && id->items.size() >= 5 && id->items[0]->text == "storage" &&
               id->items[1]->kind == Kind::Global && id->items[2]->kind == Kind::Text,
           "pickle: a reference to a value that is not a storage");
    demand(id->items[2]->text.size() <= kMaxPlace, "pickle: the name of a storage is too long");
    auto storage = make(Kind::Storage);
    storage->text = id->items[1]->text;
    storage->key = id->items[2]->text;
    push(storage);
}

void Machine::pushNumber(Kind kind, int64_t number) {
    push(make(kind));
    m_stack.back()->number = number;
}

void Machine::pushFloat() {
    push(make(Kind::Float));
    uint64_t bits = 0;
    for (char c : take(8))
        bits = bits << 8 | static_cast<unsigned char>(c);
    std::memcpy(&m_stack.back()->real, &bits, 8);
}

void Machine::get(uint64_t index) {
    const auto found = m_memo.find(index);
    demand(found != m_memo.end(), "pickle: a reference leads nowhere");
    push(found->second);
}

void Machine::put(uint64_t index) {
    demand(!m_stack.empty(), "pickle: nothing to remember");
    m_memo[index] = m_stack.back();
}

void Machine::pushGlobal() {
    const std::string module = line(), name = line();
    push(make(Kind::Global));
    m_stack.back()->text = module + " " + name;
}

const std::map<unsigned char, Machine::Operation>& Machine::operations() {
    static const std::map<unsigned char, Operation> all{
        {0x80, [](Machine& m) { demand(m.little(1) <= 5, "pickle of an unknown protocol"); }},
        {0x95, [](Machine& m) { m.little(8); }},  // skips the length of a frame
        {'N', [](Machine& m) { m.push(m.make(Kind::None)); }},
        {0x88, [](Machine& m) { m.pushNumber(Kind::Bool, 1); }},
        {0x89, [](Machine& m) { m.pushNumber(Kind::Bool, 0); }},
        {'J', [](Machine& m) { m.pushNumber(Kind::Int, static_cast<int32_t>(m.little(4))); }},
        {'K', [](Machine& m) { m.pushNumber(Kind::Int, static_cast<int64_t>(m.little(1))); }},
        {'M', [](Machine& m) { m.pushNumber(Kind::Int, static_cast<int64_t>(m.little(2))); }},
        {0x8a, [](Machine& m) { m.longInteger(); }},
        {'X', [](Machine& m) { m.pushText(m.little(4)); }},
        {0x8c, [](Machine& m) { m.pushText(m.little(1)); }},
        {'G', [](Machine& m) { m.pushFloat(); }},
        {'q', [](Machine& m) { m.put(m.little(1)); }},
        {'r', [](Machine& m) { m.put(m.little(4)); }},
        {0x94, [](Machine& m) { m.put(m.m_memo.size()); }},
        {'h', [](Machine& m) { m.get(m.little(1)); }},
        {'j', [](Machine& m) { m.get(m.little(4)); }},
        {'(', [](Machine& m) { m.m_marks.push_back(m.m_stack.size()); }},
        {'}', [](Machine& m) { m.push(m.make(Kind::Dictionary)); }},
        {']', [](Machine& m) { m.push(m.make(Kind::Sequence)); }},
        {')', [](Machine& m) { m.push(m.make(Kind::Sequence)); }},
        {'t', [](Machine& m) { m.pushTuple(m.popToMark()); }},
        {0x85, [](Machine& m) { m.pushTuple(m.popLast(1)); }},
        {0x86, [](Machine& m) { m.pushTuple(m.popLast(2)); }},
        {0x87, [](Machine& m) { m.pushTuple(m.popLast(3)); }},
        {'s', [](Machine& m) { m.setItems(m.popLast(2)); }},
        {'u', [](Machine& m) { m.setItems(m.popToMark()); }},
        {'a', [](Machine& m) { m.append({m.pop()}); }},
        {'e', [](Machine& m) { m.append(m.popToMark()); }},
        {'c', [](Machine& m) { m.pushGlobal(); }},
        {'Q', [](Machine& m) { m.persistent(); }},
        {'R', [](Machine& m) { m.reduce(); }},
        {0x81,
         [](Machine& m) {
             m.popLast(2);
             m.push(m.make(Kind::Opaque));
         }},
        {'b', [](Machine& m) { m.build(); }}};
    return all;
}

Pickle Machine::run() {
    while (true) {
        const auto op = static_cast<unsigned char>(take(1)[0]);
        if (op == '.') {
            m_pickle.root = pop();
            return std::move(m_pickle);
        }
        const auto known = operations().find(op);
        demand(known != operations().end(), "pickle: operation ", static_cast<int>(op),
               " has no place in a file of weights");
        known->second(*this);
    }
}

}  // namespace

Pickle readPickle(std::string_view bytes) {
    return Machine(bytes).run();
}

}  // namespace mpm::models
