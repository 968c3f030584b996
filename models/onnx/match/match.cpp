#include "models/onnx/match/match.hpp"

#include <algorithm>
#include <set>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"

#include "models/onnx/match/match_attention.hpp"
#include "models/onnx/match/match_mlp.hpp"

namespace mpm::models {
namespace {

bool sameFloats(const Tensor& a, const Tensor& b) {
    return a.known() == b.known() && (!a.known() || a.equals(b));
}

bool sameNorm(const Norm& a, const Norm& b) {
    return a.epsilon == b.epsilon && sameFloats(a.weight, b.weight) && sameFloats(a.bias, b.bias);
}

// Why one operator, which has one of each of these for all its blocks, cannot hold both blocks; empty if it
// can.
std::string difference(const Block& a, const Block& b) {
    const Attention& x = a.attention;
    const Attention& y = b.attention;
    const std::pair<bool, const char*> parts[] = {
        {a.tokens == b.tokens && a.batch == b.batch && a.layout == b.layout, "the shape of their tokens"},
        {x.heads == y.heads, "the number of heads"},
        {close(x.scale, y.scale), "the scale of attention"},
        {x.qNorm.present() == y.qNorm.present() && x.inner.present() == y.inner.present() &&
             a.mlp.inner.present() == b.mlp.inner.present(),
         "the places of their norms"},
        {x.norm.epsilon == y.norm.epsilon && a.mlp.norm.epsilon == b.mlp.norm.epsilon,
         "the epsilon of their norms"},
        {a.mlp.activation == b.mlp.activation, "the activation"},
        {sameFloats(x.keyBias, y.keyBias), "a bias per token"},
        {x.rope.has_value() == y.rope.has_value() && (!x.rope || x.rope->interleaved == y.rope->interleaved),
         "rotary positions"}};
    for (const auto& [same, property] : parts) {
        if (!same) return property;
    }
    return {};
}

class EncoderFinder {
public:
    EncoderFinder(const Graph& graph, const Inferred& inferred) : m_rows(graph, inferred) {}

    Match run() {
        for (const Node& node : m_rows.graph().nodes)
            rejectEmpty(node);
        for (const Node& node : m_rows.graph().nodes) {
            checkTime();
            if (node.is("Softmax") && m_rows.inferred().values[node.outputs[0]].isFloat()) matchBlock(node);
        }
        chain();
        for (EncoderSpec& encoder : m_match.encoders) {
            findTaps(encoder);
            checkInside(encoder);
        }
        chooseBackbone();
        for (EncoderSpec& encoder : m_match.encoders) {
            if (!encoder.decoder) findTokens(encoder);
        }
        return std::move(m_match);
    }

private:
    const Graph& graph() const { return m_rows.graph(); }

    // Later passes assume that there are rows and columns.
    void rejectEmpty(const Node& node) const {
        const bool product = m_rows.isLinear(&node) || node.is("MatMul") || node.is("Softmax") ||
                             node.is("LayerNormalization");
        if (!product) return;
        for (const int value :
             {node.input(0), node.outputs[0], node.is("MatMul") ? node.input(1) : kAbsent}) {
            if (value != kAbsent && m_rows.inferred().values[value].size() == 0)
                throw Refusal(graph().describe(node) + " has an operand without elements");
        }
    }

    void matchBlock(const Node& softmax) {
        try {
            Block block = matchAttention(m_rows, softmax);
            matchMlp(m_rows, block);
            m_blocks.push_back(std::move(block));
        } catch (const Mismatch& mismatch) {
            m_match.reasons.push_back(mismatch.reason);
            m_unmatched.emplace_back(softmax.outputs[0], mismatch.reason);
        }
    }

    // Blocks in the order of the graph; each continues the encoder whose last output it reads.
    void chain() {
        std::map<int, size_t> byInput;
        for (size_t k = 0; k < m_blocks.size(); ++k)
            byInput[m_blocks[k].input] = k;
        std::set<int> outputs;
        for (const Block& block : m_blocks)
            outputs.insert(block.output);
        for (size_t k = 0; k < m_blocks.size(); ++k) {
            if (outputs.count(m_blocks[k].input)) continue;
            startEncoder(k, byInput);
        }
    }

    void startEncoder(size_t first, const std::map<int, size_t>& byInput) {
        EncoderSpec encoder;
        for (size_t k = first;;) {
            if (!encoder.blocks.empty() && !difference(encoder.blocks.front(), m_blocks[k]).empty()) {
                m_match.encoders.push_back(std::move(encoder));
                encoder = {};
            }
            encoder.blocks.push_back(m_blocks[k]);
            const auto next = byInput.find(m_blocks[k].output);
            if (next == byInput.end()) break;
            k = next->second;
        }
        m_match.encoders.push_back(std::move(encoder));
    }

    // Values after a block that nodes outside of the encoder read.
    void findTaps(EncoderSpec& encoder) {
        const Block& first = encoder.blocks.front();
        encoder.tokens = first.tokens;
        encoder.dim = m_rows.shapeOf(first.input).back();
        for (size_t k = 0; k < encoder.blocks.size(); ++k) {
            const bool last = k + 1 == encoder.blocks.size();
            const int value = encoder.blocks[k].output;
            List<int> outside = m_rows.usersOf(value);
            if (!last) {
                const Block& next = encoder.blocks[k + 1];
                const auto inside = [&](int n) {
                    const Node& node = graph().nodes[n];
                    return node.outputs[0] == next.middle ||
                           (m_rows.isNorm(&node) && feedsOnly(node.outputs[0], next));
                };
                outside.erase(std::remove_if(outside.begin(), outside.end(), inside), outside.end());
            }
            if (outside.empty() && !m_rows.isOutput(value)) continue;
            addTap(encoder, static_cast<int>(k), value, outside);
        }
    }

    // Whether only the block reads its first norm.
    bool feedsOnly(int normValue, const Block& block) const {
        List<int> open{normValue};
        std::set<int> seen;
        while (!open.empty()) {
            const int value = open.back();
            open.pop_back();
            if (!seen.insert(value).second) continue;
            if (m_rows.isOutput(value)) return false;
            for (int n : m_rows.usersOf(value)) {
                const Node& user = graph().nodes[n];
                if (user.outputs[0] == block.middle) continue;
                for (int out : user.outputs) {
                    if (out != kAbsent) open.push_back(out);
                }
            }
            if (seen.size() > 400) return false;
        }
        return true;
    }

    void addTap(EncoderSpec& encoder, int block, int value, const List<int>& users) {
        const Node* norm = nullptr;
        for (int n : users) {
            if (m_rows.isNorm(&graph().nodes[n])) norm = &graph().nodes[n];
        }
        const bool one = norm && users.size() == 1 && !m_rows.isOutput(value);
        const Norm found = one ? m_rows.normOf(*norm) : Norm();
        const bool fits = one && (!encoder.norm.present() || sameNorm(encoder.norm, found));
        if (fits) encoder.norm = found;
        encoder.taps.push_back({block, fits, fits ? norm->outputs[0] : value});
    }

    // No node may read a value inside a block: it becomes one operator.
    void checkInside(EncoderSpec& encoder) {
        for (const Block& block : encoder.blocks) {
            if (!feedsBetween(block)) {
                m_match.reasons.push_back("the block at " + m_rows.describe(block.input) +
                                          " has inner values that other nodes read");
            }
        }
    }

    bool feedsBetween(const Block& block) const {
        if (m_rows.isOutput(block.middle)) return false;
        for (int n : m_rows.usersOf(block.middle)) {
            const Node& user = graph().nodes[n];
            if (user.outputs[0] != block.output && !m_rows.isNorm(&user)) return false;
        }
        return true;
    }

    // The backbone is the longest of the encoders that read the image and no other encoder. The others
    // decode.
    void chooseBackbone() {
        List<EncoderSpec>& all = m_match.encoders;
        EncoderSpec* best = nullptr;
        for (EncoderSpec& encoder : all) {
            encoder.decoder = true;
            const std::set<int> before = upstream(encoder.input());
            const bool first = std::none_of(all.begin(), all.end(), [&](const EncoderSpec& other) {
                return before.count(other.blocks.back().output) > 0;
            });
            if (first && (!best || encoder.blocks.size() > best->blocks.size())) best = &encoder;
        }
        if (!best) return;
        best->decoder = false;
        checkWhole(*best);
    }

    // If blocks of the encoder were not matched or do not continue it, merging would count the wrong blocks
    // or stop half way.
    void checkWhole(const EncoderSpec& backbone) const {
        rejectBetween(kAbsent, backbone.input(), "attention before the encoder is not one of its blocks: ");
        const int end = backbone.blocks.back().output;
        for (const EncoderSpec& other : m_match.encoders) {
            if (&other == &backbone || other.tokens != backbone.tokens || other.dim != backbone.dim) continue;
            if (other.input() == end) {
                throw Refusal(after(backbone) + " is followed by blocks that differ in " +
                              difference(backbone.blocks.front(), other.blocks.front()) +
                              ", which one encoder cannot hold");
            }
            if (!upstream(other.input()).count(end)) continue;
            rejectBetween(end, other.input(),
                          after(backbone) + " is followed by one that cannot be merged: ");
            if (other.blocks.size() > backbone.blocks.size())
                throw Refusal(after(backbone) + " is followed by something that is not a transformer block");
        }
    }

    static std::string after(const EncoderSpec& encoder) {
        return "block " + std::to_string(encoder.blocks.size() - 1) + " of the encoder";
    }

    // Rejects unmatched attention after one value (or anywhere) and before another.
    void rejectBetween(int from, int to, const std::string& why) const {
        const std::set<int> before = upstream(to);
        for (const auto& [value, reason] : m_unmatched) {
            if (before.count(value) && (from == kAbsent || upstream(value).count(from)))
                throw Refusal(why + reason);
        }
    }

    // All values that a value is computed from, and itself.
    std::set<int> upstream(int value) const {
        List<int> open{value};
        std::set<int> seen;
        while (!open.empty()) {
            const int v = open.back();
            open.pop_back();
            if (seen.size() % 1024 == 0) checkTime();
            if (v == kAbsent || !seen.insert(v).second) continue;
            if (const Node* node = graph().nodeOf(v))
                open.insert(open.end(), node->inputs.begin(), node->inputs.end());
        }
        return seen;
    }

    // The rows that do not depend on the image are the special tokens.
    void findTokens(EncoderSpec& encoder) {
        const List<Tensor> one = streamFor(encoder, 0.31f), other = streamFor(encoder, 0.77f);
        const Tensor& a = one[0];
        const Tensor& b = other[0];
        const bool batchFirst = encoder.blocks[0].layout == Layout::BatchFirst;
        const int64_t step = checkedProduct<int64_t>(encoder.dim, batchFirst ? 1 : encoder.blocks[0].batch);
        List<char> changes(encoder.tokens, 0);
        for (int64_t t = 0; t < encoder.tokens; ++t) {
            for (int64_t c = 0; c < encoder.dim; ++c)
                changes[t] |= a.f()[t * step + c] != b.f()[t * step + c];
        }
        while (encoder.special < encoder.tokens && !changes[encoder.special])
            ++encoder.special;
        for (int64_t t = encoder.special; t < encoder.tokens; ++t) {
            if (!changes[t]) throw Refusal("special tokens follow the image tokens, which is not supported");
        }
        findGrid(encoder);
    }

    List<Tensor> streamFor(const EncoderSpec& encoder, float seed) const {
        Graph part = graph();
        Port port;
        port.value = encoder.input();
        part.outputs = {port};
        part.prune();
        List<Tensor> inputs;
        for (const Port& in : part.inputs) {
            Tensor x = m_rows.inferred().values[in.value];
            x.allocate();
            uint32_t state = 12345;
            for (int64_t k = 0; x.isFloat() && k < x.size(); ++k) {
                state = state * 1664525 + 1013904223;
                x.writeF()[k] = seed * (static_cast<float>(state >> 8) / 8388608.f - 1);
            }
            inputs.push_back(x);
        }
        return evaluate(part, inputs);
    }

    // Rows and columns of patches, from the feature map that became the tokens.
    void findGrid(EncoderSpec& encoder) {
        const int64_t count = encoder.tokens - encoder.special;
        List<int> open{encoder.input()};
        std::set<int> seen;
        while (!open.empty()) {
            const int value = open.back();
            open.pop_back();
            if (!seen.insert(value).second) continue;
            const Shape& shape = m_rows.shapeOf(value);
            if (shape.size() == 4 && elementCount({shape[2], shape[3]}) == count && shape[1] >= encoder.dim) {
                encoder.gridRows = shape[2];
                encoder.gridColumns = shape[3];
                return;
            }
            const Node* node = graph().nodeOf(value);
            for (size_t k = 0; node && k < node->inputs.size(); ++k) {
                const int in = node->inputs[k];
                if (in != kAbsent && !m_rows.inferred().values[in].known()) open.push_back(in);
            }
        }
    }

    RowMatcher m_rows;
    List<Block> m_blocks;
    List<std::pair<int, std::string>> m_unmatched;  // result of an attention, why it is not a block
    Match m_match;
};

}  // namespace

const EncoderSpec* Match::backbone() const {
    for (const EncoderSpec& encoder : encoders) {
        if (!encoder.decoder) return &encoder;
    }
    return nullptr;
}

std::string Match::reason() const {
    if (!reasons.empty()) return reasons.front();
    return "the model has no transformer encoder (no attention was found): only vision transformers can be "
           "merged";
}

Match findEncoders(const Graph& graph, const Inferred& inferred) {
    return EncoderFinder(graph, inferred).run();
}

}  // namespace mpm::models
