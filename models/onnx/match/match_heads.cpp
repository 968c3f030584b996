#include "models/onnx/match/match_rows.hpp"

#include <algorithm>
#include <cmath>

namespace mpm::models {
namespace {

class Viewer {
public:
    Viewer(const RowMatcher& rows, int value, bool transposed) : m_rows(rows), m_value(value) {
        const Shape& shape = rows.shapeOf(value);
        if (shape.size() < 2) fail("is not a matrix");
        m_view.tokens = shape[shape.size() - (transposed ? 1 : 2)];
        m_view.size = shape[shape.size() - (transposed ? 2 : 1)];
        const int64_t each = m_view.tokens * m_view.size;
        if (each > 0) m_view.groups = elementCount(shape) / each;
        m_tokenStep = transposed ? 1 : m_view.size;
        m_columnStep = transposed ? m_view.tokens : 1;
    }

    HeadView run() {
        follow();
        m_width = static_cast<int32_t>(m_rows.shapeOf(m_rows.graph().nodes[m_view.linear].outputs[0]).back());
        m_view.rows.assign(m_view.groups * m_view.tokens, -1);
        m_view.columns.assign(m_view.groups * m_view.size, -1);
        m_view.bias.assign(m_view.groups * m_view.size, 0);
        m_view.rotated = m_terms.any([](const Term& t) { return t.count() == 2; });
        m_view.rotated ? readRotated() : readPlain();
        return m_view;
    }

private:
    [[noreturn]] void fail(const std::string& reason) const {
        throw Mismatch{"attention: " + m_rows.describe(m_value) + " " + reason};
    }

    Term at(int64_t g, int64_t t, int64_t j) const {
        return m_terms[g * m_view.tokens * m_view.size + t * m_tokenStep + j * m_columnStep];
    }

    void follow() {
        auto traced = trace(m_rows.graph(), m_rows.inferred(), m_value);
        if (!traced || traced->sources.size() != 1) fail("does not come from one linear layer");
        m_terms = std::move(traced->terms);
        const Node* node = m_rows.graph().nodeOf(traced->sources[0]);
        if (m_rows.isNorm(node)) {
            m_view.norm = m_rows.graph().values[traced->sources[0]].producer;
            m_headOffset = m_rows.shapeOf(node->inputs[0]).back();
            if (m_headOffset != m_view.size) fail("is normalised over something else than a head");
            traced = trace(m_rows.graph(), m_rows.inferred(), node->inputs[0]);
            if (!traced || traced->sources.size() != 1) fail("does not come from one linear layer");
            node = m_rows.graph().nodeOf(traced->sources[0]);
            compose(traced->terms);
        }
        if (!isLinear(node)) fail("does not come from a linear layer");
        m_view.linear = m_rows.graph().values[traced->sources[0]].producer;
    }

    // Continues the trace from the norm to the linear layer. For each element of the layer's result, stores
    // the element's position in its head at the norm's input. setColumn() fails if the element has another
    // position after the norm.
    void compose(const Terms& before) {
        List<Term> composed(m_terms.size());
        for (size_t n = 0; n < composed.size(); ++n) {
            Term& term = composed[n] = m_terms[n];
            for (int k = 0; k < term.count(); ++k) {
                const Term inner = before[term.at[k]];
                if (inner.count() != 1 || inner.factor[0] != 1 || inner.constant != 0)
                    fail("is changed before its norm");
                m_normColumn[inner.at[0]] = term.at[k] % m_headOffset;
                term.at[k] = inner.at[0];
            }
        }
        m_terms = Terms::from(composed);
    }

    void setRow(int64_t g, int64_t t, int32_t at) {
        int32_t& known = m_view.rows[g * m_view.tokens + t];
        const int32_t row = at / m_width;
        if (known < 0) known = row;
        if (known != row) fail("mixes tokens");
    }

    void setColumn(int64_t g, int64_t j, int32_t at) {
        int32_t& known = m_view.columns[g * m_view.size + j];
        const int32_t column = at % m_width;
        if (known < 0) known = column;
        if (known != column) fail("takes different channels for different tokens");
        if (m_view.norm != kAbsent && m_normColumn[at] != j) fail("reorders a head after its norm");
    }

    void readPlain() {
        m_view.factor = at(0, 0, 0).factor[0];
        for (int64_t g = 0; g < m_view.groups; ++g) {
            for (int64_t t = 0; t < m_view.tokens; ++t) {
                for (int64_t j = 0; j < m_view.size; ++j) {
                    const Term term = at(g, t, j);
                    if (term.count() != 1 || !close(term.factor[0], m_view.factor))
                        fail("is scaled unevenly");
                    setRow(g, t, term.at[0]);
                    setColumn(g, j, term.at[0]);
                    const float bias = term.constant / m_view.factor;
                    float& known = m_view.bias[g * m_view.size + j];
                    if (t == 0) known = bias;
                    if (known != bias) fail("has a bias that depends on the token");
                    if (bias != 0 && m_view.norm != kAbsent) fail("is shifted after its norm");
                }
            }
        }
    }

    // Returns the layer's column for each component of a head. The value of a rotated component is computed
    // from two columns; the returned column has the component before the rotation.
    List<int32_t> ownColumns(int64_t g) const {
        List<int32_t> columns;
        for (int64_t t = 0; t < m_view.tokens; ++t) {
            columns.clear();
            for (int64_t j = 0; j < m_view.size; ++j) {
                const Term term = at(g, t, j);
                if (term.count() == 1) columns.push_back(term.at[0] % m_width);
            }
            if (static_cast<int64_t>(columns.size()) == m_view.size)
                return columns;  // this token is not rotated
        }
        columns.clear();
        for (int64_t j = 0; j < m_view.size; ++j) {
            for (int k = 0; k < at(g, 0, j).count(); ++k)
                columns.push_back(at(g, 0, j).at[k] % m_width);
        }
        std::sort(columns.begin(), columns.end());
        columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
        if (static_cast<int64_t>(columns.size()) != m_view.size)
            fail("is rotated in a way that is not supported");
        return columns;
    }

    float magnitude() const {
        for (size_t k = 0; k < m_terms.size(); ++k) {
            if (m_terms[k].count() == 1) return m_terms[k].factor[0];
        }
        return std::hypot(m_terms[0].factor[0], m_terms[0].factor[1]);
    }

    void readRotated() {
        const int64_t size = m_view.size;
        m_view.factor = magnitude();
        m_view.cos.assign(m_view.groups * m_view.tokens * size, 1);
        m_view.sin.assign(m_view.cos.size(), 0);
        m_view.partner.assign(m_view.groups * size, -1);
        for (int64_t g = 0; g < m_view.groups; ++g) {
            const List<int32_t> own = ownColumns(g);
            for (int64_t j = 0; j < size; ++j) {
                for (int64_t t = 0; t < m_view.tokens; ++t)
                    readComponent(g, t, j, own);
            }
        }
    }

    void readComponent(int64_t g, int64_t t, int64_t j, const List<int32_t>& own) {
        const Term term = at(g, t, j);
        const int64_t where = (g * m_view.tokens + t) * m_view.size + j;
        if (term.constant != 0 || term.count() == 0) fail("is shifted while it is rotated");
        int mine = -1;
        for (int k = 0; k < term.count(); ++k) {
            setRow(g, t, term.at[k]);
            if (term.at[k] % m_width == own[j]) mine = k;
        }
        if (mine < 0) fail("is rotated in a way that is not supported");
        setColumn(g, j, term.at[mine]);
        m_view.cos[where] = term.factor[mine] / m_view.factor;
        if (term.count() == 1) return;
        m_view.sin[where] = term.factor[1 - mine] / m_view.factor;
        const auto other = std::find(own.begin(), own.end(), term.at[1 - mine] % m_width);
        int32_t& partner = m_view.partner[g * m_view.size + j];
        const int32_t found = static_cast<int32_t>(other - own.begin());
        if (partner < 0) partner = found;
        if (other == own.end() || partner != found) fail("is rotated in a way that is not supported");
    }

    const RowMatcher& m_rows;
    const int m_value;
    int32_t m_width = 0;  // 32 bits, like Term::at
    int64_t m_tokenStep = 0, m_columnStep = 0, m_headOffset = 1;
    Terms m_terms;
    std::map<int32_t, int64_t> m_normColumn;  // norm's component for each element of the layer's result
    HeadView m_view;
};

// Returns whether the views together are all columns of one linear layer, in order, as in the usual packed
// weight.
bool packed(const List<const HeadView*>& views, const List<int64_t>& groups, int64_t columns) {
    int32_t next = 0;
    for (const HeadView* view : views) {
        if (view->linear != views[0]->linear) return false;
        for (int64_t g : groups) {
            for (int64_t j = 0; j < view->size; ++j) {
                if (view->columns[g * view->size + j] != next++ || view->bias[g * view->size + j] != 0)
                    return false;
            }
        }
    }
    return next == columns;
}

}  // namespace

HeadView viewHeads(const RowMatcher& rows, int value, bool transposed) {
    return Viewer(rows, value, transposed).run();
}

Dense joinHeads(const RowMatcher& rows, const List<const HeadView*>& views, const List<int64_t>& groups,
                float lastFactor) {
    const Dense first = rows.denseOf(rows.graph().nodes[views[0]->linear]);
    if (lastFactor == 1 && packed(views, groups, first.weight.dim(1))) return first;
    int64_t total = 0;
    for (const HeadView* view : views)
        total += static_cast<int64_t>(groups.size()) * view->size;
    const int64_t depth = first.weight.dim(0);
    Tensor weight = Tensor::zeros(Type::Float, {depth, total});
    List<float> bias(total, 0.f);
    int64_t to = 0;
    for (const HeadView* view : views) {
        const Dense dense = rows.denseOf(rows.graph().nodes[view->linear]);
        const int64_t width = dense.weight.dim(1);
        const float factor = view == views.back() ? lastFactor : 1;
        if (dense.weight.dim(0) != depth)
            throw Mismatch{"queries, keys and values come from tokens of different widths"};
        for (int64_t g : groups) {
            for (int64_t j = 0; j < view->size; ++j, ++to) {
                const int64_t column = view->columns[g * view->size + j];
                for (int64_t k = 0; k < depth; ++k)
                    weight.writeF()[k * total + to] = factor * dense.weight.f()[k * width + column];
                bias[to] = factor * ((dense.bias.known() ? dense.bias.f()[column] : 0) +
                                     view->bias[g * view->size + j]);
            }
        }
    }
    const bool biased = std::any_of(bias.begin(), bias.end(), [](float b) { return b != 0; });
    return {weight, biased ? Tensor::floats({total}, bias) : Tensor()};
}

Rope ropeOf(const HeadView& view, const List<int64_t>& groups) {
    const int64_t half = view.size / 2;
    Rope rope;
    bool halves = true, pairs = true;
    for (int64_t g : groups) {
        for (int64_t j = 0; j < view.size; ++j) {
            const int64_t partner = view.partner[g * view.size + j];
            if (partner < 0) continue;
            pairs &= partner == (j ^ 1);
            halves &= partner == (j < half ? j + half : j - half);
        }
    }
    if (!pairs && !halves)
        throw Mismatch{"attention: rotary positions pair components in a way that is not supported"};
    rope.interleaved = pairs;
    const int64_t table = view.tokens * view.size;
    List<float> cos, sin;
    bool shared = true;
    for (int64_t g : groups) {
        for (int64_t k = 0; k < table; ++k) {
            const int64_t j = k % view.size;
            const bool first =
                rope.interleaved ? j % 2 == 0 : j < half;  // the first component's sine is subtracted
            cos.push_back(view.cos[g * table + k]);
            sin.push_back(first ? -view.sin[g * table + k] : view.sin[g * table + k]);
            shared &= close(cos.back(), cos[k]) && close(sin.back(), sin[k]);
        }
    }
    const int64_t heads = shared ? 1 : static_cast<int64_t>(groups.size());
    cos.resize(heads * table);
    sin.resize(heads * table);
    rope.cos = Tensor::floats({heads, view.tokens, view.size}, cos);
    rope.sin = Tensor::floats({heads, view.tokens, view.size}, sin);
    return rope;
}

}  // namespace mpm::models
