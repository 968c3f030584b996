#include "mpm_layer/encoder/reuse/plan.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/loops.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm {
namespace {

constexpr int kGrainOfFollowed = 64;  // rows of a thread

// The size of each row is finite only where all its values are.
bool finite(const FrameRows& frame) {
    std::atomic<bool> all{true};
    parallelFor(
        frame.rows(),
        [&](int r) {
            if (!std::isfinite(kernels::squaredDistance(frame.row(r), nullptr, frame.dim))) all = false;
        },
        kGrainOfFollowed);
    return all;
}

}  // namespace

FramePlan StreamFollower::next(const FrameRows& frame, const FramePlan& lead) {
    FramePlan plan;
    plan.state = lead.state;
    const bool misses = lead.number != std::exchange(m_number, lead.number) + 1;
    const size_t values = static_cast<size_t>(frame.rows()) * frame.dim;
    if (!lead.remembers || !finite(frame)) {
        plan.remembers = false;
        restart();
        return plan;
    }
    const bool partial = lead.state == ReuseState::Partial && !misses && m_previous.size() == values &&
                         frame.tokens >= static_cast<int>(lead.reasons.size());
    if (partial) {
        plan = planPartial(frame, lead);
    } else {
        plan.state = ReuseState::Full;
        plan.tokens.resize(frame.tokens);
        std::iota(plan.tokens.begin(), plan.tokens.end(), 0);
    }
    m_previous.resize(values);
    parallelCopy(frame.data, values, m_previous.data());
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
    std::vector<char> differs(frame.rows());
    parallelFor(
        frame.rows(), [&](int r) { differs[r] = changed(frame, r); }, kGrainOfFollowed);
    plan.idle = lead.idle && std::count(differs.begin(), differs.end(), 1) == 0;
    if (plan.idle) return plan;
    size_t next = 0;
    for (int t = 0; t < frame.tokens; ++t) {
        const bool led = next < lead.tokens.size() && lead.tokens[next] == t;
        if (led) ++next;
        if (led || t >= leading || differs[frame.special + t]) plan.tokens.push_back(t);
    }
    return plan;
}

}  // namespace mpm
