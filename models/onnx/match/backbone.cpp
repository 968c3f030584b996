#include "models/onnx/match/match_rows.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {
namespace {

class BackboneChooser {
public:
    BackboneChooser(const RowMatcher& rows, const List<Unmatched>& unmatched, List<EncoderSpec>& encoders)
        : m_rows(rows), m_unmatched(unmatched), m_encoders(encoders) {}

    void run(bool chains) {
        EncoderSpec* first = longest();
        if (!first) return;
        first->decoder = false;
        m_chain = {first};
        rejectBetween(kAbsent, first->input(), "attention before the encoder is not one of its blocks: ");
        findTokens(*first);
        while (chains && !first->windows.present() && extend()) {
        }
        numberBlocks();
        checkWhole();
    }

private:
    const Graph& graph() const { return m_rows.graph(); }

    EncoderSpec* longest() {
        EncoderSpec* best = nullptr;
        for (EncoderSpec& encoder : m_encoders) {
            encoder.decoder = true;
            const std::set<int> before = m_rows.upstream(encoder.input());
            const bool first =
                std::none_of(m_encoders.begin(), m_encoders.end(),
                             [&](const EncoderSpec& other) { return before.count(other.output()) > 0; });
            if (first && (!best || encoder.blocks.size() > best->blocks.size())) best = &encoder;
        }
        return best;
    }

    // Adds the encoder that continues the chain. Returns false if there is no such encoder, or several.
    bool extend() {
        EncoderSpec& last = *m_chain.back();
        EncoderSpec* next = nullptr;
        OtherRows around;
        for (EncoderSpec& encoder : m_encoders) {
            checkTime();
            if (!encoder.decoder) continue;
            const auto found = continuationOf(m_rows, last, encoder);
            if (!found) continue;
            if (next) return false;
            next = &encoder;
            around = *found;
        }
        if (!next) return false;
        rejectBetween(last.output(), next->input(),
                      after(m_chain) + " is followed by one that cannot be merged: ");
        next->decoder = false;
        next->special = around.special;
        next->trailing = around.trailing;
        next->gridRows = last.gridRows;
        next->gridColumns = last.gridColumns;
        last.givesMap = next->takesMap = true;
        m_chain.push_back(next);
        return true;
    }

    void numberBlocks() {
        if (m_chain.size() == 1) return;
        const int all = blocksOf(m_chain);
        int first = 0;
        for (EncoderSpec* segment : m_chain) {
            segment->firstBlock = first;
            segment->chainBlocks = all;
            for (Tap& tap : segment->taps)
                tap.block += first;
            first = segment->endBlock();
        }
    }

    static int blocksOf(const List<EncoderSpec*>& chain) {
        size_t blocks = 0;
        for (const EncoderSpec* segment : chain)
            blocks += segment->blocks.size();
        return static_cast<int>(blocks);
    }

    // Throws Refusal if blocks that seem to belong to the chain follow it. Otherwise block numbers would be
    // wrong, or merging would stop before the last block.
    void checkWhole() const {
        const EncoderSpec& last = *m_chain.back();
        checkMasks();
        for (const EncoderSpec& other : m_encoders) {
            if (!other.decoder || other.tokens != last.tokens || other.dim != last.dim) continue;
            if (other.input() == last.output()) {
                throw Refusal(after(m_chain) + " is followed by blocks that differ in " +
                              difference(last.blocks.front(), other.blocks.front()) +
                              ", which one encoder cannot hold");
            }
            if (!m_rows.upstream(other.input()).count(last.output())) continue;
            rejectBetween(last.output(), other.input(),
                          after(m_chain) + " is followed by one that cannot be merged: ");
            if (static_cast<int>(other.blocks.size()) > blocksOf(m_chain))
                throw Refusal(after(m_chain) + " is followed by something that is not a transformer block");
        }
    }

    // Throws Refusal if masked blocks follow the chain. The masks are for training only; in an export without
    // masks, these blocks belong to the chain.
    void checkMasks() const {
        for (const auto& [value, why] : m_unmatched) {
            const Shape& shape = m_rows.shapeOf(value);
            const bool ofTokens = shape.size() > 1 && shape.back() == shape[shape.size() - 2] &&
                                  shape.back() >= m_chain.back()->imageTokens();
            if (!why.masked || !ofTokens || !m_rows.upstream(value).count(m_chain.back()->output())) continue;
            throw Refusal(after(m_chain) +
                          " is followed by blocks with masked attention, which are for training only: export "
                          "the model without it (EoMT: --model.network.masked_attn_enabled False; "
                          "transformers: set attn_mask_probs to 0)");
        }
    }

    static std::string after(const List<EncoderSpec*>& chain) {
        return "block " + std::to_string(blocksOf(chain) - 1) + " of the encoder";
    }

    // Throws Refusal if unmatched attention is between the values `from` (kAbsent: the image) and `to`.
    void rejectBetween(int from, int to, const std::string& message) const {
        const std::set<int> before = m_rows.upstream(to);
        for (const auto& [value, why] : m_unmatched) {
            if (before.count(value) && (from == kAbsent || m_rows.upstream(value).count(from)) &&
                isAttention(m_rows, value))
                throw Refusal(message + why.reason);
        }
    }

    // Counts the special and trailing rows: the rows that have the same values for two different images.
    void findTokens(EncoderSpec& encoder) {
        if (encoder.windows.present()) return;
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
        while (encoder.imageTokens() > 0 && !changes[encoder.tokens - 1 - encoder.trailing])
            ++encoder.trailing;
        for (int64_t t = encoder.special; t < encoder.tokens - encoder.trailing; ++t) {
            if (!changes[t])
                throw Refusal("special tokens are between the image tokens, which is not supported");
        }
        findGrid(encoder);
    }

    List<Tensor> streamFor(const EncoderSpec& encoder, float scale) const {
        Graph part = graph();
        part.outputs = {Port::of(encoder.input())};
        part.prune();
        List<Tensor> inputs;
        for (const Port& in : part.inputs)
            inputs.push_back(noiseLike(m_rows.inferred().values[in.value], 12345, scale));
        return evaluate(part, inputs);
    }

    // Finds the grid: the rows and columns of the feature map that becomes the tokens.
    void findGrid(EncoderSpec& encoder) {
        const int64_t count = encoder.imageTokens();
        OpenValues open({encoder.input()});
        for (int value; open.next(value);) {
            const Shape& shape = m_rows.shapeOf(value);
            if (shape.size() == 4 && elementCount({shape[2], shape[3]}) == count && shape[1] >= encoder.dim) {
                encoder.gridRows = shape[2];
                encoder.gridColumns = shape[3];
                return;
            }
            if (cutsImage(value, encoder)) return;
            const Node* node = graph().nodeOf(value);
            for (size_t k = 0; node && k < node->inputs.size(); ++k) {
                const int in = node->inputs[k];
                if (in != kAbsent && !m_rows.inferred().values[in].known()) open.add(in);
            }
        }
    }

    // Returns whether a Reshape cuts the image into patches, as in [B, C, rows, height, columns, width]. If
    // so, sets the grid.
    bool cutsImage(int value, EncoderSpec& encoder) const {
        const Node* node = graph().nodeOf(value);
        if (!node || !node->is("Reshape")) return false;
        const Shape &image = m_rows.shapeOf(node->inputs[0]), &cut = m_rows.shapeOf(value);
        if (image.size() != 4 || cut.size() != 6) return false;
        for (size_t axis = 1; axis < 3; ++axis) {
            const bool split = elementCount({cut[axis], cut[axis + 1]}) == image[axis] &&
                               elementCount({cut[axis + 2], cut[axis + 3]}) == image[axis + 1];
            if (!split || elementCount({cut[axis], cut[axis + 2]}) != encoder.imageTokens()) continue;
            encoder.gridRows = cut[axis];
            encoder.gridColumns = cut[axis + 2];
            return true;
        }
        return false;
    }

    const RowMatcher& m_rows;
    const List<Unmatched>& m_unmatched;
    List<EncoderSpec>& m_encoders;
    List<EncoderSpec*> m_chain;
};

}  // namespace

bool isAttention(const RowMatcher& rows, int probabilities) {
    const auto visit = [&](int n) {
        const Node& node = rows.graph().nodes[n];
        if (node.op == "MatMul" || node.op == "MpmMatMul") return RowMatcher::Step::Found;
        const bool passes = isOneOf(node.op, {"Reshape", "Transpose", "MpmTranspose", "Squeeze", "Unsqueeze",
                                              "Where", "Identity", "Cast"});
        return passes ? RowMatcher::Step::Follow : RowMatcher::Step::Skip;
    };
    return rows.downstream(probabilities, visit) != kAbsent;
}

bool sameValues(const Tensor& a, const Tensor& b) {
    return a.known() == b.known() && (!a.known() || a.equals(b));
}

// If a block has windows, compares `rows` instead of `tokens` and `batch`, which differ between a windowed
// block and a global block with the same rows.
static bool sameTokens(const Block& a, const Block& b) {
    if (!a.windows.empty() || !b.windows.empty()) return a.rows == b.rows && a.layout == b.layout;
    return a.tokens == b.tokens && a.batch == b.batch && a.layout == b.layout;
}

std::string difference(const Block& a, const Block& b) {
    const Attention& x = a.attention;
    const Attention& y = b.attention;
    const std::pair<bool, const char*> parts[] = {
        {sameTokens(a, b), "the shape of their tokens"},
        {x.heads == y.heads, "the number of heads"},
        {close(x.scale, y.scale), "the scale of attention"},
        {x.qNorm.present() == y.qNorm.present() && x.inner.present() == y.inner.present() &&
             a.mlp.inner.present() == b.mlp.inner.present(),
         "the places of their norms"},
        {x.norm.rule == y.norm.rule && a.mlp.norm.rule == b.mlp.norm.rule,
         "the kind or epsilon of their norms"},
        {a.parallel == b.parallel, "the order of attention and MLP"},
        {a.mlp.activation == b.mlp.activation, "the activation"},
        {sameValues(x.keyBias, y.keyBias), "a bias per token"},
        {x.rope.has_value() == y.rope.has_value() && (!x.rope || x.rope->interleaved == y.rope->interleaved),
         "rotary positions"}};
    for (const auto& [same, property] : parts) {
        if (!same) return property;
    }
    return {};
}

void chooseBackbone(const RowMatcher& rows, const List<Unmatched>& unmatched, bool chains,
                    List<EncoderSpec>& encoders) {
    BackboneChooser(rows, unmatched, encoders).run(chains);
}

}  // namespace mpm::models
