#include "mpm_layer/encoder/reuse/follower.hpp"

#include <cmath>
#include <cstring>
#include <numeric>

#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm {

FramePlan StreamFollower::next(const FrameRows& frame, const FramePlan& lead) {
    FramePlan plan;
    plan.state = lead.state;
    const size_t values = static_cast<size_t>(frame.rows()) * frame.dim;
    float squares = 0;
    for (int r = 0; r < frame.rows(); ++r)
        squares += kernels::squaredDistance(frame.row(r), nullptr, frame.dim);
    if (!lead.remembers || !std::isfinite(squares)) {
        plan.remembers = false;
        restart();
        return plan;
    }
    const bool partial = lead.state == ReuseState::Partial && m_previous.size() == values &&
                         frame.tokens >= static_cast<int>(lead.reasons.size());
    if (partial) {
        plan = planPartial(frame, lead);
    } else {
        plan.state = ReuseState::Full;
        plan.tokens.resize(frame.tokens);
        std::iota(plan.tokens.begin(), plan.tokens.end(), 0);
    }
    m_previous.assign(frame.data, frame.data + values);
    return plan;
}

bool StreamFollower::changed(const FrameRows& frame, int row) const {
    const size_t at = static_cast<size_t>(row) * frame.dim;
    return std::memcmp(&m_previous[at], frame.row(row), frame.dim * sizeof(float)) != 0;
}

FramePlan StreamFollower::planPartial(const FrameRows& frame, const FramePlan& lead) const {
    FramePlan plan;
    plan.state = ReuseState::Partial;
    const int leading = static_cast<int>(lead.reasons.size());
    bool stirs = !lead.idle;
    for (int r = 0; r < frame.rows() && !stirs; ++r)
        stirs = changed(frame, r);
    plan.idle = !stirs;
    if (plan.idle) return plan;
    size_t next = 0;
    for (int t = 0; t < frame.tokens; ++t) {
        const bool led = next < lead.tokens.size() && lead.tokens[next] == t;
        if (led) ++next;
        if (led || t >= leading || changed(frame, frame.special + t)) plan.tokens.push_back(t);
    }
    return plan;
}

}  // namespace mpm
