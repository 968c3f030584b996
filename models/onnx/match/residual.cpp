#include "models/onnx/match/match_rows.hpp"

#include <set>

#include "models/onnx/ir/rewrite.hpp"

namespace mpm::models {
namespace {

class ResidualFinder {
public:
    ResidualFinder(const RowMatcher& rows, int result, int stream)
        : m_rows(rows), m_result(result), m_stream(stream) {}

    Residual run() {
        std::set<int> reached{m_result};
        m_rows.downstream(m_result, [&](int n) {
            const Node& user = m_rows.graph().nodes[n];
            if (user.is("Add") && user.inputs.size() == 2) {
                const size_t ours = reached.count(user.inputs[0]) ? 0 : 1;
                if (joins(user, user.inputs[ours], user.inputs[1 - ours])) return RowMatcher::Step::Found;
            }
            if (!canFollow(m_rows.inferred(), user, Follow::Affine)) return RowMatcher::Step::Skip;
            reached.insert(user.outputs.begin(), user.outputs.end());
            return RowMatcher::Step::Follow;
        });
        return m_found;
    }

private:
    // Matches x + attention, (x + mlp) + attention or x + (attention + mlp). Here x stands for the tokens.
    // After x + attention, the MLP reads the sum or x.
    bool joins(const Node& add, int attention, int other) {
        const int sum = add.outputs[0];
        if (other == m_stream) {
            m_found = {attention, sum, kAbsent, kAbsent};
        } else if (m_rows.inferred().values[other].known()) {
            return false;
        } else if (const int mlp = addedToStream(m_rows.graph().nodeOf(other)); mlp != kAbsent) {
            m_found = {attention, other, mlp, sum};
        } else if (const Node* next = onlyUser(sum); addedToStream(next) == sum) {
            m_found = {attention, sum, other, next->outputs[0]};
        }
        return m_found.branch != kAbsent;
    }

    // Returns the term that the node adds to the tokens; kAbsent if the node is not such a sum.
    int addedToStream(const Node* node) const {
        return node && node->is("Add") ? Rewriter::otherOperand(*node, m_stream) : kAbsent;
    }

    const Node* onlyUser(int value) const {
        const List<int>& users = m_rows.usersOf(value);
        return users.size() == 1 && !m_rows.isOutput(value) ? &m_rows.graph().nodes[users[0]] : nullptr;
    }

    const RowMatcher& m_rows;
    const int m_result, m_stream;
    Residual m_found;
};

}  // namespace

Residual residualAfter(const RowMatcher& rows, int result, int stream) {
    return ResidualFinder(rows, result, stream).run();
}

}  // namespace mpm::models
