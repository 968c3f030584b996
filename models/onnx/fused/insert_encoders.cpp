#include <algorithm>

#include "models/onnx/fused/insert.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/match/match.hpp"

namespace mpm::models {
namespace {

class EncoderNode {
public:
    EncoderNode(Graph& graph, const EncoderSpec& encoder)
        : m_graph(graph),
          m_encoder(encoder),
          m_node{"MpmEncoder", "mpm", encoder.decoder ? "decoder" : "encoder", {}, {}, {}} {}

    /// `map`: the merge map of the input tokens; kAbsent if these tokens are not merged.
    Node build(int tokens, int map, const List<int>& outputs, const Merging& merging) {
        m_names = "tokens";
        m_node.inputs = {tokens};
        m_node.outputs = outputs;
        if (m_encoder.takesMap) {
            m_names += " map";
            m_node.inputs.push_back(map);
        }
        if (m_encoder.blocks[0].attention.keyBias.known())
            add("key_bias", m_encoder.blocks[0].attention.keyBias);
        addRope();
        for (size_t k = 0; k < m_encoder.blocks.size(); ++k)
            addBlock(std::to_string(m_encoder.firstBlock + k) + ".", m_encoder.blocks[k]);
        addNorm("norm", m_encoder.norm);
        addAttributes(merging);
        return m_node.set("inputs", m_names);
    }

private:
    void add(const std::string& name, const Tensor& tensor) {
        m_names += " " + name;
        m_node.inputs.push_back(m_graph.addConstant(m_node.name + "." + name, tensor));
    }

    void addNorm(const std::string& name, const Norm& norm) {
        if (!norm.present()) return;
        add(name + ".weight", norm.weight);
        if (norm.bias.known()) add(name + ".bias", norm.bias);
    }

    void addInner(const std::string& name, const Norm& norm) {
        if (!norm.present()) return;
        if (m_inner && *m_inner != norm.rule) {
            throw Refusal("the norms inside attention and MLP are of different kinds or epsilons (" +
                          describe(*m_inner) + "; " + describe(norm.rule) +
                          "), which MpmEncoder cannot express");
        }
        m_inner = norm.rule;
        addNorm(name, norm);
    }

    void addDense(const std::string& name, const Dense& dense) {
        add(name + ".weight", dense.weight);
        if (dense.bias.known()) add(name + ".bias", dense.bias);
    }

    void addBlock(const std::string& prefix, const Block& block) {
        const Attention& a = block.attention;
        addNorm(prefix + "norm1", a.norm);
        addDense(prefix + "qkv", a.qkv);
        addInner(prefix + "q_norm", a.qNorm);
        addInner(prefix + "k_norm", a.kNorm);
        addInner(prefix + "attn_norm", a.inner);
        addDense(prefix + "proj", a.proj);
        addNorm(prefix + "norm2", block.mlp.norm);
        addDense(prefix + "fc1", block.mlp.fc1);
        if (block.mlp.gate.present()) addDense(prefix + "gate", block.mlp.gate);
        addInner(prefix + "mlp_norm", block.mlp.inner);
        addDense(prefix + "fc2", block.mlp.fc2);
        if (a.norm.rule != block.mlp.norm.rule) {
            throw Refusal("the two norms of a block are of different kinds or epsilons (" +
                          describe(a.norm.rule) + "; " + describe(block.mlp.norm.rule) +
                          "), which MpmEncoder cannot express");
        }
    }

    // Returns the rows of a rotary table that belong to image tokens. An MpmEncoder rotates only these
    // tokens, so all values of other rows must be `identity`, which does not rotate. If not, throws Refusal.
    Tensor imageTable(const Tensor& table, float identity) const {
        if (m_encoder.windows.present())  // the table has only rows of image tokens
            return table.dim(0) == 1 ? table.reshaped({table.dim(1), table.dim(2)}) : table;
        const int64_t heads = table.dim(0), tokens = table.dim(1), size = table.dim(2),
                      first = m_encoder.special, image = m_encoder.imageTokens();
        List<float> values;
        for (int64_t k = 0; k < table.size(); ++k) {
            const int64_t token = k / size % tokens;
            if (token >= first && token < first + image) {
                values.push_back(table.f()[k]);
            } else if (table.f()[k] != identity) {
                throw Refusal(
                    "special tokens are rotated by their position, which MpmEncoder cannot express");
            }
        }
        const Shape shape = heads == 1 ? Shape{image, size} : Shape{heads, image, size};
        return Tensor::floats(shape, values);
    }

    void addRope() {
        const auto& first = m_encoder.blocks[0].attention.rope;
        if (!first) return;
        add("rope.cos", imageTable(first->cos, 1));
        add("rope.sin", imageTable(first->sin, 0));
        for (size_t k = 1; k < m_encoder.blocks.size(); ++k) {
            const Rope& own = *m_encoder.blocks[k].attention.rope;
            if (own.cos.equals(first->cos) && own.sin.equals(first->sin)) continue;
            const std::string prefix = std::to_string(m_encoder.firstBlock + k) + ".";
            add(prefix + "rope.cos", imageTable(own.cos, 1));
            add(prefix + "rope.sin", imageTable(own.sin, 0));
        }
        m_node.set("rope", first->interleaved ? "interleaved" : "half");
    }

    void addAttributes(const Merging& merging) {
        const Block& first = m_encoder.blocks[0];
        m_node.set("blocks", m_encoder.blocks.size()).set("heads", m_encoder.heads());
        const Windows& windows = m_encoder.windows;
        m_node.set("special_tokens", windows.present() ? windows.special : m_encoder.special);
        if (windows.present()) m_node.set("window", {windows.rows, windows.columns});
        if (windows.padding) m_node.set("padding", 1);
        const List<int64_t> global(windows.globalBlocks.begin(), windows.globalBlocks.end());
        if (!global.empty()) m_node.set("global_blocks", global);
        addPlace();
        const NormRule& usual = first.attention.norm.rule;
        writeRule(m_node, "", usual, {});
        if (m_inner) writeRule(m_node, "inner_", *m_inner, usual);
        if (m_encoder.norm.present()) writeRule(m_node, "final_", m_encoder.norm.rule, usual);
        if (first.parallel) m_node.set("parallel", 1);
        m_node.set("activation", first.mlp.activation).set("scale", first.attention.scale);
        m_node.set("role", m_encoder.decoder ? "decoder" : "backbone");
        List<int64_t> taps, norms;
        for (const Tap& tap : m_encoder.taps) {
            taps.push_back(tap.block);
            norms.push_back(tap.normed);
        }
        m_node.set("taps", taps).set("tap_norm", norms);
        if (m_encoder.gridRows > 0) m_node.set("grid", {m_encoder.gridRows, m_encoder.gridColumns});
        if (m_encoder.decoder) return;
        const List<int64_t> own =
            scheduleWithin(merging.schedule, m_encoder.firstBlock, m_encoder.endBlock());
        if (!own.empty()) m_node.set("schedule", own);
        if (merging.method != "mpm") m_node.set("method", merging.method);
    }

    // Adds the attributes of trailing tokens, the map output and the chain only if the encoder uses them,
    // because files with these attributes need domain version 2.
    void addPlace() {
        if (m_encoder.trailing > 0) m_node.set("trailing_tokens", m_encoder.trailing);
        if (m_encoder.givesMap) m_node.set("map_output", 1);
        if (m_encoder.chainBlocks == 0) return;
        m_node.set("chain", "backbone")
            .set("chain_blocks", m_encoder.chainBlocks)
            .set("first_block", m_encoder.firstBlock);
    }

    Graph& m_graph;
    const EncoderSpec& m_encoder;
    Node m_node;
    std::string m_names;
    std::optional<NormRule> m_inner;  // rule of the norms inside attention and MLP
};

// Writes nodes that convert between the tokens of an MpmEncoder, [batch, tokens, width], and the export's
// layout of tokens.
class Stream {
public:
    Stream(Graph& graph, const Shapes& shapes, const EncoderSpec& encoder)
        : m_graph(graph),
          m_shape(shapes.of(encoder.input())),
          m_encoder(encoder),
          m_dynamic(shapes.dynamic) {}

    bool plain() const { return m_shape.size() == 3 && m_encoder.blocks[0].layout == Layout::BatchFirst; }

    int enter(int value) {
        if (plain()) return value;
        if (m_encoder.blocks[0].layout == Layout::TokensFirst && m_shape.size() == 3)
            return transpose(value, m_graph.addValue("tokens"));
        return reshape(value, {m_dynamic ? -1 : m_encoder.blocks[0].batch, m_encoder.tokens, m_encoder.dim},
                       m_graph.addValue("tokens"));
    }

    /// Returns an output for the operator, and writes the nodes that compute `value` from this output.
    int leave(int value) {
        if (plain()) return value;
        const int inside = m_graph.addValue("tokens.restored");
        if (m_encoder.blocks[0].layout == Layout::TokensFirst && m_shape.size() == 3) {
            transpose(inside, value);
        } else {
            Shape shape = m_shape;
            if (m_dynamic) {
                if (m_shape.size() != 2 && m_shape[0] != m_encoder.blocks[0].batch)
                    throw Refusal("tokens of shape " + toString(m_shape) +
                                  " cannot be restored for a dynamic batch");
                shape[0] = -1;
            }
            reshape(inside, shape, value);
        }
        return inside;
    }

private:
    int transpose(int from, int to) {
        m_graph.add("Transpose", {from}, to).set("perm", {1, 0, 2});
        return to;
    }

    int reshape(int from, const Shape& shape, int to) {
        // The domain mpm.internal makes lower() keep the node.
        m_graph.add("Reshape", {from, m_graph.addConstant("shape", Tensor::vector(shape))}, to,
                    "mpm.internal");
        return to;
    }

    Graph& m_graph;
    const Shape m_shape;
    const EncoderSpec& m_encoder;
    const bool m_dynamic;
};

void insertWindowed(State& state, const EncoderSpec& encoder, const Merging& merging) {
    Graph& graph = state.graph;
    List<int> outputs;
    for (size_t k = 0; k < encoder.taps.size(); ++k)
        outputs.push_back(graph.addValue("tokens.restored"));
    const int tokens = connectWindows(state, encoder, outputs);
    graph.nodes.push_back(EncoderNode(graph, encoder).build(tokens, kAbsent, outputs, merging));
}

}  // namespace

void insertEncoders(State& state, const Merging& merging) {
    Graph& graph = state.graph;
    int map = kAbsent;  // of the previous encoder; encoders are in the order of their chain
    for (const EncoderSpec& encoder : state.match.encoders) {
        if (encoder.windows.present()) {
            insertWindowed(state, encoder, merging);
            continue;
        }
        Stream stream(graph, state.shapes, encoder);
        List<int> outputs;
        for (const Tap& tap : encoder.taps) {
            checkTime();
            graph.release(tap.value);
        }
        for (const Tap& tap : encoder.taps)
            outputs.push_back(stream.leave(tap.value));
        const int tokens = stream.enter(encoder.input());
        const int before = map;
        if (encoder.givesMap) outputs.push_back(map = graph.addValue("map"));
        graph.nodes.push_back(EncoderNode(graph, encoder).build(tokens, before, outputs, merging));
    }
    graph.arrange();
}

}  // namespace mpm::models
