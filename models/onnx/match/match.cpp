#include "models/onnx/match/match.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "models/onnx/ir/job.hpp"
#include "models/onnx/match/match_rows.hpp"

namespace mpm::models {
namespace {

bool sameNorm(const Norm& a, const Norm& b) {
    return a.rule == b.rule && sameValues(a.weight, b.weight) && sameValues(a.bias, b.bias);
}

class EncoderFinder {
public:
    EncoderFinder(const Graph& graph, const Inferred& inferred) : m_rows(graph, inferred) {}

    Match run(bool chains) {
        for (const Node& node : m_rows.graph().nodes) {
            rejectEmpty(node);
            if (node.is("Softmax")) findWidest(node.inputs[0]);
        }
        for (const Node& node : m_rows.graph().nodes) {
            checkTime();
            if (node.is("Softmax") && m_rows.inferred().values[node.outputs[0]].isFloat()) matchBlock(node);
        }
        chain();
        resolveWindows();
        for (EncoderSpec& encoder : m_match.encoders) {
            findTaps(encoder);
            checkInside(encoder);
        }
        chooseBackbone(m_rows, m_unmatched, chains, m_match.encoders);
        findOutside();
        return std::move(m_match);
    }

private:
    const Graph& graph() const { return m_rows.graph(); }

    // Rejects operands without elements, because later passes assume that there are rows and columns.
    void rejectEmpty(const Node& node) const {
        const bool product = isLinear(&node) || node.is("MatMul") || node.is("Softmax") || ruleOf(node);
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
        } catch (Mismatch& mismatch) {
            if (isWindowed(softmax.inputs[0])) nameWindows(softmax, mismatch);
            m_match.reasons.push_back(mismatch.reason);
            m_unmatched.push_back({softmax.outputs[0], mismatch});
        }
    }

    // If the scores are [..., T, T] and T is the largest so far, stores T and the number of rows.
    void findWidest(int scores) {
        const Shape& shape = m_rows.shapeOf(scores);
        if (shape.size() < 2 || shape.back() != shape[shape.size() - 2] || shape.back() <= m_widest) return;
        m_widest = shape.back();
        m_widestRows = m_rows.inferred().values[scores].size() / m_widest;
    }

    // Returns whether the scores belong to windows: scores of windows have fewer columns than the widest
    // scores, but at least as many rows.
    bool isWindowed(int scores) const {
        const Shape& shape = m_rows.shapeOf(scores);
        if (shape.size() < 2 || shape.back() < 1 || shape.back() != shape[shape.size() - 2]) return false;
        return shape.back() < m_widest &&
               m_rows.inferred().values[scores].size() / shape.back() >= m_widestRows;
    }

    void nameWindows(const Node& softmax, Mismatch& mismatch) const {
        const std::string tokens = std::to_string(m_rows.shapeOf(softmax.inputs[0]).back()) + " of " +
                                   std::to_string(m_widest) + " tokens";
        mismatch.reason =
            "attention at " + graph().describe(softmax) + " runs in windows (" + tokens +
            (mismatch.relative
                 ? ") and adds relative positions to its scores, which merged tokens cannot have; models with"
                 : "), which merging does not support; models with global attention and") +
            " absolute or rotary positions work";
    }

    // Joins blocks into encoders: a block continues the encoder whose last output the block reads. If several
    // blocks read this output, the block that begins the longest sequence continues the encoder; each other
    // block begins a new encoder.
    void chain() {
        const size_t none = m_blocks.size();
        std::map<int, List<size_t>> readers;
        for (size_t k = 0; k < m_blocks.size(); ++k)
            readers[m_blocks[k].input].push_back(k);
        List<size_t> next(m_blocks.size(), none), length(m_blocks.size(), 1);
        std::set<size_t> continuing;
        for (size_t k = m_blocks.size(); k-- > 0;) {
            for (const size_t reader : readers[m_blocks[k].output]) {
                if (length[reader] + 1 <= length[k]) continue;
                length[k] = length[reader] + 1;
                next[k] = reader;
            }
            if (next[k] != none) continuing.insert(next[k]);
        }
        for (size_t k = 0; k < m_blocks.size(); ++k)
            if (!continuing.count(k)) startEncoder(k, next);
    }

    void startEncoder(size_t first, const List<size_t>& next) {
        EncoderSpec encoder;
        for (size_t k = first; k < m_blocks.size(); k = next[k]) {
            if (!encoder.blocks.empty() && !difference(encoder.blocks.front(), m_blocks[k]).empty()) {
                m_match.encoders.push_back(std::move(encoder));
                encoder = {};
            }
            encoder.blocks.push_back(m_blocks[k]);
        }
        m_match.encoders.push_back(std::move(encoder));
    }

    // Drops encoders with windows of an unsupported kind.
    void resolveWindows() {
        List<EncoderSpec> kept;
        for (EncoderSpec& encoder : m_match.encoders) {
            try {
                if (hasWindows(encoder)) findWindows(m_rows, encoder);
                kept.push_back(std::move(encoder));
            } catch (const Mismatch& mismatch) {
                for (const Block& block : encoder.blocks) {
                    const Node& softmax = *graph().nodeOf(block.probabilities);
                    Mismatch own{"attention at " + graph().describe(softmax) + ": " + mismatch.reason};
                    m_match.reasons.insert(m_match.reasons.begin(), own.reason);
                    m_unmatched.push_back({block.probabilities, own});
                }
            }
        }
        m_match.encoders = std::move(kept);
    }

    // Finds the taps: block outputs that nodes outside of the encoder read.
    void findTaps(EncoderSpec& encoder) {
        const Block& first = encoder.blocks.front();
        if (!encoder.windows.present()) encoder.tokens = first.tokens;
        encoder.dim = m_rows.shapeOf(first.input).back();
        for (size_t k = 0; k < encoder.blocks.size(); ++k) {
            const bool last = k + 1 == encoder.blocks.size();
            const int value = encoder.blocks[k].output;
            List<int> outside = m_rows.usersOf(value);
            if (!last) {
                const Block& next = encoder.blocks[k + 1];
                const auto inside = [&](int n) {
                    const Node& node = graph().nodes[n];
                    return node.outputs[0] == next.middle || node.outputs[0] == next.output ||
                           ((m_rows.isNorm(&node) || node.is("Reshape")) && feedsOnly(node.outputs[0], next));
                };
                outside.erase(std::remove_if(outside.begin(), outside.end(), inside), outside.end());
            }
            if (outside.empty() && !m_rows.isOutput(value)) continue;
            addTap(encoder, static_cast<int>(k), value, outside);
        }
    }

    bool feedsOnly(int normValue, const Block& block) const {
        OpenValues open({normValue});
        for (int value; open.next(value);) {
            if (m_rows.isOutput(value)) return false;
            for (int n : m_rows.usersOf(value)) {
                const Node& user = graph().nodes[n];
                if (user.outputs[0] != block.middle && user.outputs[0] != block.output)
                    open.add(user.outputs);
            }
            if (open.seen().size() > 400) return false;
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

    // Adds a reason to m_match.reasons for each block whose inner values other nodes read. An MpmEncoder
    // cannot output inner values.
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

    void findOutside() {
        for (const Unmatched& each : m_unmatched)
            if (isAttention(m_rows, each.value)) m_match.outside.push_back(each.why.reason);
        for (const Node& node : graph().nodes)
            if (node.op == "MpmMaskedSoftmax")
                m_match.outside.push_back(graph().describe(node) + " is masked by a result of the model");
    }

    RowMatcher m_rows;
    int64_t m_widest = 0, m_widestRows = 0;  // tokens and rows of the scores with the most tokens
    List<Block> m_blocks;
    List<Unmatched> m_unmatched;
    Match m_match;
};

}  // namespace

const EncoderSpec* Match::backbone() const {
    const List<const EncoderSpec*> all = segments();
    return all.empty() ? nullptr : all.front();
}

List<const EncoderSpec*> Match::segments() const {
    List<const EncoderSpec*> all;
    for (const EncoderSpec& encoder : encoders)
        if (!encoder.decoder) all.push_back(&encoder);
    std::stable_sort(all.begin(), all.end(), [](const EncoderSpec* a, const EncoderSpec* b) {
        return a->firstBlock < b->firstBlock;
    });
    if (!all.empty() && all.front()->chainBlocks == 0) all.resize(1);
    return all;
}

int Match::blocks() const {
    const EncoderSpec* first = backbone();
    return !first ? 0 : first->chainBlocks > 0 ? first->chainBlocks : static_cast<int>(first->blocks.size());
}

std::string Match::reason() const {
    if (!reasons.empty()) return reasons.front();
    return "the model has no transformer encoder (no attention was found): only vision transformers can be "
           "merged";
}

Match findEncoders(const Graph& graph, const Inferred& inferred, bool chains) {
    return EncoderFinder(graph, inferred).run(chains);
}

}  // namespace mpm::models
