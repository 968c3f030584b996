#include "models/onnx/match/match_rows.hpp"

#include <numeric>

#include "base/checked.hpp"

namespace mpm::models {
namespace {

class EmbeddingTracer {
public:
    EmbeddingTracer(const RowMatcher& rows, const EncoderSpec& encoder)
        : m_rows(rows), m_value(encoder.input()), m_dim(rows.shapeOf(encoder.input()).back()) {}

    Embedding run() {
        m_found.termRow.resize(m_rows.inferred().values[m_value].size() / m_dim);
        std::iota(m_found.termRow.begin(), m_found.termRow.end(), 0);
        while (true) {
            auto traced = trace(m_rows.graph(), m_rows.inferred(), m_value);
            if (!traced || traced->sources.size() != 1) fail();
            m_found.source = traced->sources[0];
            const Node* node = m_rows.graph().nodeOf(m_found.source);
            if (!m_rows.isNorm(node)) {
                m_found.terms = std::move(traced->terms);
                break;
            }
            enterNorm();
        }
        readGrid();
        for (size_t row = 0; row < m_found.termRow.size(); ++row)
            readRow(row);
        return std::move(m_found);
    }

private:
    [[noreturn]] void fail() const {
        throw Mismatch{"the place of each token in the image cannot be followed from " +
                       m_rows.describe(m_value)};
    }

    void enterNorm() {
        const RowMatcher::Normed normed = m_rows.normBehind(m_value);
        for (int32_t& row : m_found.termRow) {
            row = normed.rows[row];
            if (row < 0) fail();
        }
        const Node& norm = m_rows.graph().nodes[normed.norm];
        m_found.norms.push_back(m_rows.normOf(norm));
        m_value = norm.inputs[0];
    }

    // Reads the grid from the source's shape. If two successive elements of an image token are also
    // successive in the source, the source has the channels last.
    void readGrid() {
        const Shape& shape = m_rows.shapeOf(m_found.source);
        if (shape.size() != 4) fail();
        for (size_t row = 0; row < m_found.termRow.size() && m_found.gridRows == 0; ++row) {
            const int64_t first = m_found.termRow[row] * m_dim;
            if (m_found.terms[first].count() != 1 || m_dim < 2) continue;
            m_found.channelsLast =
                m_found.terms[first + 1].at[0] == m_found.terms[first].at[0] + 1 && shape[3] == m_dim;
            m_found.gridRows = shape[m_found.channelsLast ? 1 : 2];
            m_found.gridColumns = shape[m_found.channelsLast ? 2 : 3];
        }
        if (m_found.gridRows == 0 || shape[m_found.channelsLast ? 3 : 1] != m_dim) fail();
    }

    void readRow(size_t row) {
        const int64_t begin = m_found.termRow[row] * m_dim,
                      tokens = elementCount({m_found.gridRows, m_found.gridColumns});
        const Term term = m_found.terms[begin];
        int32_t image = Embedding::kSpecial, token = Embedding::kSpecial;
        if (term.count() == 1) {
            image = static_cast<int32_t>(term.at[0] / (tokens * m_dim));
            const int64_t within = term.at[0] % (tokens * m_dim);
            token = static_cast<int32_t>(m_found.channelsLast ? within / m_dim : within);
        }
        for (int64_t c = 0; c < m_dim; ++c) {
            const Term each = m_found.terms[begin + c];
            if (image == Embedding::kSpecial && each.count() == 0) continue;
            const int64_t at = m_found.channelsLast ? (image * tokens + token) * m_dim + c
                                                    : (image * m_dim + c) * tokens + token;
            if (each.count() != 1 || each.factor[0] != 1 || each.at[0] != at) fail();
        }
        m_found.image.push_back(image);
        m_found.token.push_back(token);
    }

    const RowMatcher& m_rows;
    int m_value;
    const int64_t m_dim;
    Embedding m_found;
};

}  // namespace

Embedding embeddingOf(const RowMatcher& rows, const EncoderSpec& encoder) {
    return EmbeddingTracer(rows, encoder).run();
}

}  // namespace mpm::models
