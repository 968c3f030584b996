#include "models/onnx/layers/layers.hpp"

#include <algorithm>
#include <cmath>

#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

class LayersWriter {
public:
    LayersWriter(Graph& graph, const EncoderSpec& encoder, const List<int>& schedule)
        : m_graph(graph), m_encoder(encoder), m_schedule(schedule) {}

    void run(const Shape& stream) {
        if (m_encoder.blocks[0].attention.keyBias.known())
            throw Refusal("the layers form does not support a bias per key: use --form fused");
        if (m_encoder.blocks[0].attention.rope && m_encoder.trailing > 0)
            throw Refusal(
                "the layers form does not support rotary positions with tokens behind those of the "
                "image: use --form fused");
        int x = enter(m_encoder.input(), stream);
        startRope();
        size_t tap = 0;
        for (size_t k = 0; k < m_encoder.blocks.size(); ++k) {
            if (std::count(m_schedule.begin(), m_schedule.end(), static_cast<int>(k))) x = merge(x);
            m_name = "block" + std::to_string(k);
            x = block(x, m_encoder.blocks[k]);
            while (tap < m_encoder.taps.size() && m_encoder.taps[tap].block == static_cast<int>(k))
                leave(x, m_encoder.taps[tap++], stream);
        }
    }

private:
    int add(const std::string& op, const List<int>& inputs, int output = kAbsent,
            const std::string& domain = {}) {
        const std::string name = m_name + "/" + op;
        const int to = output == kAbsent ? m_graph.addValue(name) : output;
        m_graph.add(op, inputs, to, domain, name);
        return to;
    }

    Node& last() { return m_graph.nodes.back(); }
    int constant(const Tensor& tensor) { return m_graph.addConstant(m_name + "/constant", tensor); }
    int scalar(float value) { return constant(Tensor::scalar(value)); }
    int reshape(int x, const List<int64_t>& shape, int output = kAbsent) {
        return add("Reshape", {x, constant(Tensor::vector(shape))}, output);
    }

    int transpose(int x, const List<int64_t>& order) {
        const int y = add("Transpose", {x});
        last().set("perm", order);
        return y;
    }

    int gather(int x, int at, int64_t axis) {
        const int y = add("Gather", {x, at});
        last().set("axis", axis);
        return y;
    }

    int norm(int x, const Norm& norm, int output = kAbsent) {
        List<int> inputs{x, constant(norm.weight)};
        if (norm.bias.known()) inputs.push_back(constant(norm.bias));
        const int y = add(namesOf(norm.rule.kind).onnx, inputs, output);
        last().set("epsilon", norm.rule.epsilon).set("axis", -1);
        return y;
    }

    int linear(int x, const Dense& dense) {
        const int y = add("MatMul", {x, constant(dense.weight)});
        return dense.bias.known() ? add("Add", {y, constant(dense.bias)}) : y;
    }

    int enter(int x, const Shape& stream) {
        m_name = "tokens";
        if (stream.size() == 3 && m_encoder.blocks[0].layout == Layout::TokensFirst)
            return transpose(x, {1, 0, 2});
        return stream.size() == 3 ? x : reshape(x, {1, -1, m_encoder.dim});
    }

    void leave(int x, const Tap& tap, const Shape& stream) {
        m_name = "tap" + std::to_string(tap.block);
        const int behind = m_maps.empty() ? kAbsent : trailingRows(x);
        x = m_maps.empty() ? x : imageRows(x);
        for (size_t k = m_maps.size(); k-- > 0;) {
            x = add("MpmRestore", {x, m_maps[k]}, kAbsent, "mpm");
            last().set("special_tokens", m_encoder.special);
        }
        x = join(x, behind);
        if (tap.normed) x = norm(x, m_encoder.norm);
        if (stream.size() == 3 && m_encoder.blocks[0].layout == Layout::TokensFirst)
            x = transpose(x, {1, 0, 2});
        reshape(x, {stream.begin(), stream.end()}, tap.value);
    }

    int slice(int x, int64_t first, int64_t end) {
        const auto one = [this](int64_t value) { return constant(Tensor::vector({value})); };
        return add("Slice", {x, one(first), one(end), one(1)});
    }

    // Returns the rows behind the image tokens; kAbsent if there are none. These rows never merge.
    int trailingRows(int x) {
        return m_encoder.trailing > 0 ? slice(x, -m_encoder.trailing, m_encoder.tokens) : kAbsent;
    }
    int imageRows(int x) { return m_encoder.trailing > 0 ? slice(x, 0, -m_encoder.trailing) : x; }
    int join(int x, int behind) {
        if (behind == kAbsent) return x;
        const int y = add("Concat", {x, behind});
        last().set("axis", 1);
        return y;
    }

    int merge(int x) {
        m_name = "merge" + std::to_string(m_maps.size());
        const int behind = trailingRows(x);
        const int y = add("MpmMerge", {imageRows(x)}, kAbsent, "mpm");
        const int map = m_graph.addValue(m_name + "/map");
        last().outputs.push_back(map);
        last().outputs.push_back(
            m_graph.addValue(m_name + "/counts"));  // ONNX Runtime needs all outputs of a function
        last().set("special_tokens", m_encoder.special);
        m_maps.push_back(map);
        if (m_cos != kAbsent) keepRepresentatives(map);
        return join(y, behind);
    }

    // Removes the rotary angles of merged tokens: a cluster keeps only the angle of its representative.
    void keepRepresentatives(int map) {
        const int flat = reshape(map, {-1});
        const int row = add("Unsqueeze", {flat, constant(Tensor::vector({0}))});
        const int column = add("Unsqueeze", {flat, constant(Tensor::vector({1}))});
        const int same = add("Cast", {add("Equal", {row, column})});
        last().set("to", 1);
        const int before = add("Trilu", {same, constant(Tensor::ints({}, -1))});
        last().set("upper", 0);
        const int seen = add("ReduceMax", {before, constant(Tensor::vector({1}))});
        last().set("keepdims", 0);
        const int found = add("NonZero", {add("Less", {seen, scalar(0.5f)})});
        const int first = add("Squeeze", {found, constant(Tensor::vector({0}))});
        const int shifted = add("Add", {first, constant(Tensor::vector({m_encoder.special}))});
        int rows = shifted;
        if (m_encoder.special > 0) {
            rows = add("Concat", {constant(Tensor::vector(counted(m_encoder.special))), shifted});
            last().set("axis", 0);
        }
        m_cos = gather(m_cos, rows, 1);
        m_sin = gather(m_sin, rows, 1);
    }

    void startRope() {
        const auto& rope = m_encoder.blocks[0].attention.rope;
        if (!rope) return;
        for (const Block& block : m_encoder.blocks) {
            if (!block.attention.rope->cos.equals(rope->cos))
                throw Refusal(
                    "rotary positions differ between blocks, which the layers form does not support: use "
                    "--form fused");
        }
        m_name = "rope";
        m_cos = constant(rope->cos);
        m_sin = constant(signedSine(*rope));
    }

    // Negates the sine of the first component of each rotated pair, because the rotation of this component
    // is a difference, but rotate() only adds.
    static Tensor signedSine(const Rope& rope) {
        List<float> values = rope.sin.toFloats();
        const int64_t size = rope.sin.dim(2);
        for (size_t k = 0; k < values.size(); ++k) {
            const int64_t j = static_cast<int64_t>(k) % size;
            if (rope.interleaved ? j % 2 == 0 : j < size / 2) values[k] = -values[k];
        }
        return Tensor::floats(rope.sin.shape(), values);
    }

    int rotate(int x, const Attention& a) {
        const int64_t size = a.rope->cos.dim(2);
        List<int64_t> partner(size);
        for (int64_t j = 0; j < size; ++j)
            partner[j] = a.rope->interleaved ? j ^ 1 : (j + size / 2) % size;
        const int turned = gather(x, constant(Tensor::vector(partner)), 3);
        return add("Add", {add("Mul", {x, m_cos}), add("Mul", {turned, m_sin})});
    }

    int attention(int x, const Attention& a) {
        const int64_t width = a.qkv.weight.dim(1) / 3, size = width / a.heads;
        const int qkv =
            transpose(reshape(linear(norm(x, a.norm), a.qkv), {1, -1, 3, a.heads, size}), {2, 0, 3, 1, 4});
        int part[3];
        for (int64_t k = 0; k < 3; ++k)
            part[k] = gather(qkv, constant(Tensor::ints({}, k)), 0);
        if (a.qNorm.present()) part[0] = norm(part[0], a.qNorm);
        if (a.kNorm.present()) part[1] = norm(part[1], a.kNorm);
        if (a.rope) {
            part[0] = rotate(part[0], a);
            part[1] = rotate(part[1], a);
        }
        const int scores =
            add("Mul", {add("MatMul", {part[0], transpose(part[1], {0, 1, 3, 2})}), scalar(a.scale)});
        const int probabilities = add("Softmax", {scores});
        last().set("axis", -1);
        int y = reshape(transpose(add("MatMul", {probabilities, part[2]}), {0, 2, 1, 3}), {1, -1, width});
        if (a.inner.present()) y = norm(y, a.inner);
        return add("Add", {x, linear(y, a.proj)});
    }

    int block(int x, const Block& b) {
        const int middle = attention(x, b.attention);
        return add("Add", {middle, mlp(b.parallel ? x : middle, b.mlp)});
    }

    int mlp(int x, const Mlp& m) {
        const int n = norm(x, m.norm);
        int y = m.gate.present() ? add("Mul", {activate(linear(n, m.gate), m.activation), linear(n, m.fc1)})
                                 : activate(linear(n, m.fc1), m.activation);
        if (m.inner.present()) y = norm(y, m.inner);
        return linear(y, m.fc2);
    }

    int activate(int x, const std::string& name) {
        if (name == "relu") return add("Relu", {x});
        if (name == "silu") return add("Mul", {x, add("Sigmoid", {x})});
        if (name == "gelu_quick") return add("Mul", {x, add("Sigmoid", {add("Mul", {x, scalar(1.702f)})})});
        int inner = kAbsent;
        if (name == "gelu") {
            inner = add("Erf", {add("Mul", {x, scalar(std::sqrt(0.5f))})});
        } else {
            const int cube = add("Mul", {add("Mul", {x, x}), x});
            const int sum = add("Add", {x, add("Mul", {cube, scalar(0.044715f)})});
            inner = add("Tanh", {add("Mul", {sum, scalar(std::sqrt(2 / 3.14159265f))})});
        }
        return add("Mul", {add("Mul", {x, scalar(0.5f)}), add("Add", {inner, scalar(1)})});
    }

    Graph& m_graph;
    const EncoderSpec& m_encoder;
    const List<int> m_schedule;
    std::string m_name;
    List<int> m_maps;
    int m_cos = kAbsent, m_sin = kAbsent;  // [heads or 1, tokens, head size], of the remaining tokens
};

// Replaces the blocks of every encoder with nodes for any number of tokens. In the backbone, adds an MpmMerge
// in front of each block of the schedule, and at each tap an MpmRestore for each earlier MpmMerge.
void writeBlocks(State& state, const List<int>& schedule) {
    Graph& graph = state.graph;
    for (const EncoderSpec& encoder : state.match.encoders) {
        for (const Tap& tap : encoder.taps) {
            checkTime();
            graph.release(tap.value);
        }
        LayersWriter(graph, encoder, encoder.decoder ? List<int>{} : schedule)
            .run(state.shapes.of(encoder.input()));
    }
    graph.arrange();
}

}  // namespace

void writeLayers(State& state, const List<int>& schedule) {
    writeBlocks(state, schedule);
    declarePorts(state.graph, state.shapes, state.binding);
    standardise(state);
}

}  // namespace mpm::models
