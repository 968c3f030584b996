#include "models/onnx/match/match_rows.hpp"

#include <algorithm>

namespace mpm::models {
namespace {

class ScoreReader {
public:
    ScoreReader(const RowMatcher& rows, const Node& softmax) : m_rows(rows), m_softmax(softmax) {}

    Scores run() {
        int value = m_softmax.inputs[0];
        const int64_t axis = m_softmax.getInt("axis", m_rows.graph().opset < 13 ? 1 : -1);
        const int64_t rank = static_cast<int64_t>(shapeOf(value).size());
        if (axis != -1 && axis != rank - 1) fail("its softmax does not run over the keys");
        Scores scores;
        for (const Node* node = m_rows.graph().nodeOf(value); node; node = m_rows.graph().nodeOf(value)) {
            if (node->is("MatMul")) {
                scores.product = m_rows.graph().values[value].producer;
                return scores;
            }
            value = unwrap(*node, scores);
        }
        fail("no product of queries and keys leads to it");
    }

private:
    const Shape& shapeOf(int value) const { return m_rows.shapeOf(value); }
    bool isKnown(int value) const { return m_rows.inferred().values[value].known(); }
    [[noreturn]] void fail(const std::string& reason) const {
        throw Mismatch{"attention at " + m_rows.graph().describe(m_softmax) + ": " + reason};
    }

    [[noreturn]] void failRelative(const std::string& what, const std::string& where) const {
        throw Mismatch{"attention at " + m_rows.graph().describe(m_softmax) + ": " + what +
                           " added to its scores" + where +
                           ", which merged tokens cannot have; models with absolute or rotary positions work",
                       false, true};
    }

    // Adds the effect of `node`, which is between the product q k^T and the softmax, to the scores. Returns
    // the input of `node`.
    int unwrap(const Node& node, Scores& scores) {
        const bool reshaped = node.is("Reshape") || node.is("Squeeze") || node.is("Unsqueeze");
        if (reshaped && keepsMatrix(m_rows, node)) return node.inputs[0];
        if (node.inputs.size() == 2 && (node.is("Mul") || node.is("Div") || node.is("Add"))) {
            const bool first = isKnown(node.inputs[0]);
            const int constant = node.inputs[first ? 0 : 1], other = node.inputs[first ? 1 : 0];
            const bool usable = isKnown(constant) && (node.op != "Div" || !first);
            const Tensor& c = m_rows.inferred().values[constant];
            if (usable && node.is("Add")) {
                addKeyBias(c, scores);
                return other;
            }
            if (usable && c.size() == 1) {
                const float by = static_cast<float>(c.at(0));
                scores.scale = node.is("Mul") ? scores.scale * by : scores.scale / by;
                return other;
            }
        }
        // The original code of SAM adds relative positions to scores with separate axes for rows and columns,
        // so a Reshape follows the sum.
        const Node* before = node.is("Reshape") ? m_rows.graph().nodeOf(node.inputs[0]) : nullptr;
        const bool sums =
            before && before->is("Add") && !isKnown(before->inputs[0]) && !isKnown(before->inputs[1]);
        const Node& last = sums ? *before : node;
        if (m_rows.isMask(last))
            throw Mismatch{"the image decides which keys attention uses (masked attention)", true};
        // Masks that depend on the image were rejected above. Other computed terms are relative positions.
        if (last.is("Add"))
            failRelative("relative positions are", " (" + m_rows.graph().describe(last) + ")");
        if (node.is("Where") || node.is("Sub"))
            failRelative("a mask or a relative position bias is", " (" + m_rows.graph().describe(node) + ")");
        fail("its scores pass through " + m_rows.graph().describe(node) + ", which is not supported");
    }

    // Adds `c`, a constant term of the scores, to the bias of keys. Multiplies `c` by all scales found so
    // far. Fails if `c` also depends on the query.
    void addKeyBias(const Tensor& c, Scores& scores) {
        const int64_t keys = shapeOf(m_softmax.inputs[0]).back();
        List<float> bias(keys, 0.f);
        for (int64_t k = 0; k < c.size(); ++k) {
            const int64_t key = c.rank() == 0 || c.dim(-1) == 1 ? -1 : k % keys;
            if (k < keys && key >= 0) bias[key] = c.f()[k];
            if (key >= 0 && c.f()[k] != bias[key]) {
                failRelative("a relative position bias or a mask is", "");
            }
        }
        if (std::all_of(bias.begin(), bias.end(), [](float b) { return b == 0; })) return;
        for (int64_t key = 0; key < keys; ++key)
            bias[key] = scores.scale * bias[key] + (scores.keyBias.known() ? scores.keyBias.f()[key] : 0);
        scores.keyBias = Tensor::floats({keys}, bias);
    }

    const RowMatcher& m_rows;
    const Node& m_softmax;
};

}  // namespace

Scores scoresOf(const RowMatcher& rows, const Node& softmax) {
    return ScoreReader(rows, softmax).run();
}

bool keepsMatrix(const RowMatcher& rows, const Node& node) {
    const Shape &a = rows.shapeOf(node.inputs[0]), &b = rows.shapeOf(node.outputs[0]);
    return a.size() > 1 && b.size() > 1 && a.back() == b.back() && a[a.size() - 2] == b[b.size() - 2];
}

}  // namespace mpm::models
