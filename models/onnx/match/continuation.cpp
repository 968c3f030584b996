#include "models/onnx/match/match_rows.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/trace/trace.hpp"

namespace mpm::models {
namespace {

class Continuation {
public:
    Continuation(const RowMatcher& rows, const EncoderSpec& segment, const EncoderSpec& next)
        : m_rows(rows), m_segment(segment), m_next(next) {}

    std::optional<OtherRows> find() {
        const bool alike = !m_next.windows.present() && m_segment.dim == m_next.dim &&
                           batch() == m_next.blocks[0].batch && m_segment.imageTokens() > 0 &&
                           m_next.tokens >= m_segment.imageTokens();
        if (!alike) return std::nullopt;
        collectCarriers();
        if (!m_carriers.count(m_next.input())) return std::nullopt;
        const auto traced = trace(m_rows.graph(), m_rows.inferred(), m_next.input(), Follow::Affine, stops());
        if (!traced || !locate(*traced)) return std::nullopt;
        return place(traced->terms);
    }

private:
    int64_t batch() const { return m_segment.blocks[0].batch; }

    // Collects the values that nodes compute from the segment's output by moving, scaling or adding elements.
    void collectCarriers() {
        m_carriers.insert(m_segment.output());
        m_rows.downstream(m_segment.output(), [this](int n) {
            const Node& node = m_rows.graph().nodes[n];
            if (!canFollow(m_rows.inferred(), node, Follow::Affine)) return RowMatcher::Step::Skip;
            m_carriers.insert(node.outputs.begin(), node.outputs.end());
            return RowMatcher::Step::Follow;
        });
    }

    // Returns the values at which the trace stops: the segment's output, and inputs that contain no elements
    // of the segment's output, such as positions or special tokens. Any node may compute such an input.
    List<int> stops() const {
        List<int> ends{m_segment.output()};
        OpenValues open({m_next.input()});
        for (int value; open.next(value);) {
            const Node* node = value == m_segment.output() ? nullptr : m_rows.graph().nodeOf(value);
            for (size_t k = 0; node && k < node->inputs.size(); ++k) {
                const int in = node->inputs[k];
                if (in == kAbsent || m_rows.inferred().values[in].known()) continue;
                m_carriers.count(in) ? open.add(in) : ends.push_back(in);
            }
        }
        return ends;
    }

    bool locate(const Trace& traced) {
        const auto at = std::find(traced.sources.begin(), traced.sources.end(), m_segment.output());
        if (at == traced.sources.end()) return false;
        m_begin = traced.offsets[at - traced.sources.begin()];
        m_end =
            checkedSum<int64_t>(m_begin, checkedProduct<int64_t>(batch(), m_segment.tokens, m_segment.dim));
        return true;
    }

    // Returns the index of the segment's element in the term. Returns -1 if the term contains no such
    // element or several, or scales the element.
    int64_t copied(const Term& term) const {
        int64_t found = -1;
        for (int slot = 0; slot < 2; ++slot) {
            if (term.at[slot] < m_begin || term.at[slot] >= m_end) continue;
            if (found >= 0 || term.factor[slot] != 1) return -1;
            found = term.at[slot] - m_begin;
        }
        return found;
    }

    bool carries(const Terms& terms, int64_t image, int64_t row, int64_t token) const {
        const int64_t dim = m_segment.dim;
        const int64_t to = m_next.rowOf(image, row) * dim,
                      from = m_segment.rowOf(image, m_segment.special + token) * dim;
        for (int64_t c = 0; c < dim; ++c)
            if (copied(terms[to + c]) != from + c) return false;
        return true;
    }

    std::optional<OtherRows> place(const Terms& terms) const {
        const int64_t tokens = m_segment.imageTokens(), last = m_next.tokens - tokens;
        int64_t front = 0;
        while (front <= last && !carries(terms, 0, front, 0))
            ++front;
        if (front > last) return std::nullopt;
        for (int64_t image = 0; image < batch(); ++image) {
            checkTime();
            for (int64_t token = 0; token < tokens; ++token)
                if (!carries(terms, image, front + token, token)) return std::nullopt;
        }
        return OtherRows{checkedCast<int>(front), checkedCast<int>(last - front)};
    }

    const RowMatcher& m_rows;
    const EncoderSpec& m_segment;
    const EncoderSpec& m_next;
    std::set<int> m_carriers;
    int64_t m_begin = 0, m_end = 0;  // range of the segment's elements among the traced elements
};

}  // namespace

std::optional<OtherRows> continuationOf(const RowMatcher& rows, const EncoderSpec& segment,
                                        const EncoderSpec& next) {
    return Continuation(rows, segment, next).find();
}

}  // namespace mpm::models
