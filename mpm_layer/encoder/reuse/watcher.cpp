#include "mpm_layer/encoder/reuse/watcher.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "base/loops.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm {
namespace {

constexpr double kDefaultFloor = 0.14;
constexpr int kFullBeforeSuspension = 4, kQuietBeforeResumption = 4;
// A full frame marks all tokens as changed. In the next frame, even tokens that had not changed before seem
// to stop changing. So after a full frame, two tokens that stop changing cause a single refresh, not two.
constexpr int kStoppedForOneMoreAfterFull = 2;
constexpr int kPixelGrain = 64;  // tokens of a parallel task
// The largest noise, as a share of the typical distance between two tokens of a frame. If a token changes by
// a larger share, the scene has changed.
constexpr float kMostNoise = 0.4f;

float distance(const float* a, const float* b, int dim) {
    return std::sqrt(kernels::squaredDistance(a, b, dim) / static_cast<float>(dim));
}

bool sameBits(const float* a, const float* b, size_t count) {
    constexpr size_t kChunk = 1 << 14;
    std::atomic<bool> same{true};
    parallelFor(static_cast<int>((count + kChunk - 1) / kChunk), [&](int k) {
        const size_t first = static_cast<size_t>(k) * kChunk;
        const size_t bytes = std::min(kChunk, count - first) * sizeof(float);
        if (same && std::memcmp(a + first, b + first, bytes) != 0) same = false;
    });
    return same;
}

// Returns the typical distance between two image tokens as a root mean square, from a sample of the frame.
float spreadOf(const FrameRows& frame) {
    constexpr int kSample = 256;
    const int stride = std::max(1, frame.tokens / kSample), count = (frame.tokens + stride - 1) / stride;
    const float share = 1.0f / static_cast<float>(std::max(1, count));
    std::vector<float> mean(frame.dim);
    for (int t = 0; t < frame.tokens; t += stride)
        for (int d = 0; d < frame.dim; ++d)
            mean[d] += share * frame.token(t)[d];
    double squares = 0;
    for (int t = 0; t < frame.tokens; t += stride)
        squares += share * kernels::squaredDistance(frame.token(t), mean.data(), frame.dim);
    return static_cast<float>(std::sqrt(2 * squares / frame.dim));
}

int shareOf(double share, int tokens) {
    return static_cast<int>(std::floor(share * tokens));
}

}  // namespace

void StreamWatcher::restart() {
    m_fresh = true;
    m_suspended = false;
    m_fullInARow = m_quietInARow = m_stillFrames = 0;
}

// Compares a token with the previous frame, and with the next token in this and in the previous frame.
void StreamWatcher::compareWithBefore(const FrameRows& frame, int token, NoiseEvidence& evidence) const {
    const int next = token + 1 < frame.tokens ? token + 1 : std::max(0, token - 1);
    const auto before = [&](int t) {
        return &m_previous[static_cast<size_t>(frame.special + t) * frame.dim];
    };
    const auto squared = [&](const float* a, const float* b) {
        return kernels::squaredDistance(a, b, frame.dim) / static_cast<float>(frame.dim);
    };
    const float own = squared(frame.token(token), before(token)),
                other = squared(frame.token(next), before(next));
    const float now = squared(frame.token(token), frame.token(next)),
                then = squared(before(token), before(next));
    // The scalar product of the changes of `token` and `next`, from squared distances. `alike` is the cosine
    // of the two changes.
    const float product =
        (squared(frame.token(token), before(next)) + squared(before(token), frame.token(next)) - now - then) /
        2;
    const float alike = own > 0 && other > 0 ? product / std::sqrt(own * other) : 0.0f;
    evidence.differences[token] = std::sqrt(own);
    evidence.apart[token] = std::sqrt(own * std::max(0.0f, 1 - alike));
    evidence.contrasts[token] = std::sqrt(now);
    evidence.contrastsBefore[token] = std::sqrt(then);
}

// Measures sizes, differences from the previous frame, and noise. Returns false if a row is not finite.
bool StreamWatcher::measure(const FrameRows& frame, const Reuse& reuse) {
    const bool known = m_previous.size() == static_cast<size_t>(frame.rows()) * frame.dim;
    if (known && sameBits(m_previous.data(), frame.data, m_previous.size())) {
        // Keeps the noise estimate, because two equal frames show no noise.
        m_evidence.differences.assign(frame.tokens, 0.0f);
        ++m_stillFrames;
        return true;
    }
    m_stillFrames = 0;
    std::vector<float> sizes(frame.tokens);
    NoiseEvidence evidence;
    evidence.resize(known ? frame.tokens : 0);
    float outside = 0;  // finite only if all rows that are not image tokens are finite
    for (int r = 0; r < frame.rows(); ++r)
        if (r < frame.special || r >= frame.special + frame.tokens)
            outside += kernels::squaredDistance(frame.row(r), nullptr, frame.dim);
    parallelFor(
        frame.tokens,
        [&](int t) {
            sizes[t] = distance(frame.token(t), nullptr, frame.dim);
            if (known) compareWithBefore(frame, t, evidence);
        },
        kPixelGrain);
    double squares = 0;
    for (float size : sizes)
        squares += static_cast<double>(size) * size;
    if (!std::isfinite(squares) || !std::isfinite(outside)) return false;
    const double floor = reuse.floor < 0 ? kDefaultFloor : reuse.floor;
    m_least = static_cast<float>(floor * std::sqrt(squares / std::max(1, frame.tokens)));
    m_sizes.swap(sizes);
    std::swap(m_evidence, evidence);
    if (known) {
        const double sensitivity = std::max(reuse.sensitivity, 1e-6);
        m_noise.add(m_axis.positions(frame, m_sizes, m_evidence.differences), m_evidence,
                    static_cast<float>(m_least / sensitivity), kMostNoise * spreadOf(frame));
    }
    m_previous.resize(static_cast<size_t>(frame.rows()) * frame.dim);
    parallelCopy(frame.data, m_previous.size(), m_previous.data());
    return true;
}

float StreamWatcher::thresholdOf(int token, const Reuse& reuse) const {
    return std::max(static_cast<float>(reuse.sensitivity) * m_noise.of(token), m_least);
}

// Returns whether the stream remains suspended.
bool StreamWatcher::watchSuspended(const FrameRows& frame, const Reuse& reuse) {
    int changed = 0;
    for (int t = 0; t < static_cast<int>(m_evidence.differences.size()); ++t)
        changed += m_evidence.differences[t] > (reuse.exact ? 0.0f : thresholdOf(t, reuse));
    m_quietInARow = changed < reuse.full / 2 * frame.tokens ? m_quietInARow + 1 : 0;
    if (m_quietInARow < kQuietBeforeResumption) return true;
    restart();
    return false;
}

// Returns the distance of each image token from m_reference, the token as it was last computed. If the
// distance does not exceed the token's threshold (with `exact`: if no bit differs), it counts as 0.
std::vector<float> StreamWatcher::changesOf(const FrameRows& frame, const Reuse& reuse) const {
    std::vector<float> changes(frame.tokens);
    parallelFor(
        frame.tokens,
        [&](int t) {
            const float* reference = &m_reference[static_cast<size_t>(t) * frame.dim];
            const float change = distance(frame.token(t), reference, frame.dim);
            if (reuse.exact) {
                const bool same = std::memcmp(reference, frame.token(t), frame.dim * sizeof(float)) == 0;
                changes[t] = same ? 0 : std::max(change, std::numeric_limits<float>::min());
            } else if (change > thresholdOf(t, reuse)) {
                changes[t] = change;
            }
        },
        kPixelGrain);
    return changes;
}

FramePlan StreamWatcher::next(const FrameRows& frame, const Reuse& reuse, int blocks) {
    FramePlan plan = planNext(frame, reuse, blocks);
    plan.number = ++m_frames;
    return plan;
}

FramePlan StreamWatcher::planNext(const FrameRows& frame, const Reuse& reuse, int blocks) {
    if (!measure(frame, reuse)) {
        m_fresh = true;
        FramePlan plan;
        plan.remembers = false;
        if (m_suspended) plan.state = ReuseState::Suspended;
        return plan;
    }
    if (m_suspended && watchSuspended(frame, reuse)) {
        FramePlan plan;
        plan.state = ReuseState::Suspended;
        plan.remembers = false;
        return plan;
    }
    if (m_fresh || m_reference.size() != static_cast<size_t>(frame.tokens) * frame.dim) {
        m_fresh = false;
        m_fullInARow = m_stillFrames = 0;
        m_reference.resize(static_cast<size_t>(frame.tokens) * frame.dim);
        m_ages.assign(frame.tokens, 0);
        m_still.assign(frame.tokens, 0);
        return planFull(frame, std::vector<float>(frame.tokens, 1.0f));
    }
    const std::vector<float> changes = changesOf(frame, reuse);
    const auto changed = frame.tokens - std::count(changes.begin(), changes.end(), 0.0f);
    if (changed > reuse.full * frame.tokens) {
        m_suspended = ++m_fullInARow >= kFullBeforeSuspension;
        return planFull(frame, changes);
    }
    const bool afterFull = m_fullInARow > 0;
    m_fullInARow = 0;
    FramePlan plan = planPartial(frame, reuse, changes, afterFull);
    const long long settled = (blocks + 1LL) * reuse.refresh;
    if (reuse.refresh > 0 && m_stillFrames > settled) {
        plan.idle = true;
        plan.tokens.clear();
        std::fill(plan.reasons.begin(), plan.reasons.end(), ReuseReason::Kept);
    }
    finishPlan(frame, plan);
    return plan;
}

FramePlan StreamWatcher::planFull(const FrameRows& frame, const std::vector<float>& changes) {
    FramePlan plan;
    plan.tokens.resize(frame.tokens);
    std::iota(plan.tokens.begin(), plan.tokens.end(), 0);
    plan.reasons.resize(frame.tokens);
    for (int t = 0; t < frame.tokens; ++t)
        plan.reasons[t] = changes[t] > 0 ? ReuseReason::Changed : ReuseReason::Refreshed;
    finishPlan(frame, plan);
    return plan;
}

// Refreshes some of the oldest tokens, computes changed tokens, and refreshes more tokens if some have
// stopped changing.
FramePlan StreamWatcher::planPartial(const FrameRows& frame, const Reuse& reuse,
                                     const std::vector<float>& changes, bool afterFull) {
    FramePlan plan;
    plan.state = ReuseState::Partial;
    plan.reasons.assign(frame.tokens, ReuseReason::Kept);
    if (reuse.refresh > 0) {
        refresh(due(reuse), plan, [this](int t) { return static_cast<double>(m_ages[t]); });
    }
    const int computed = markChanged(reuse, changes, plan);
    if (reuse.refresh > 0) {
        int stopped = 0;
        for (int t = 0; t < frame.tokens; ++t)
            stopped += m_still[t] == 0 && changes[t] == 0;
        const int left = std::max(0, shareOf(reuse.budget, frame.tokens) - computed);
        const int more = afterFull ? stopped / kStoppedForOneMoreAfterFull : stopped;
        refresh(std::min(more, left), plan, [this](int t) { return staleness(t); });
    }
    for (int t = 0; t < frame.tokens; ++t) {
        const bool again =
            plan.reasons[t] == ReuseReason::Changed || plan.reasons[t] == ReuseReason::Refreshed;
        if (again) plan.tokens.push_back(t);
    }
    return plan;
}

// Returns how many of the oldest tokens to refresh, so that each token is computed within `refresh` frames
// and all frames take about the same time. For every age, divides the number of tokens that are at least this
// old by the number of frames in which these tokens must be computed, and takes the largest quotient. Ignores
// tokens younger than `refresh` / 2, because many of these tokens will change soon. If the budget is below
// twice the even share (tokens / `refresh`), returns the even share.
int StreamWatcher::due(const Reuse& reuse) const {
    const int tokens = static_cast<int>(m_ages.size()),
              evenly = tokens / reuse.refresh + (tokens % reuse.refresh > 0);
    const int budget = shareOf(reuse.budget, tokens);
    if (budget < 2 * evenly) return evenly;
    std::vector<int> ages;  // the oldest first
    for (const int age : m_ages)
        if (age >= reuse.refresh / 2) ages.push_back(age);
    std::sort(ages.begin(), ages.end(), std::greater<int>());
    int most = 0;
    for (int n = 0; n < static_cast<int>(ages.size()); ++n)
        most = std::max(most, n / std::max(1, reuse.refresh - ages[n]) + 1);
    return std::min(most, budget);  // after idle frames, all tokens may be old, so `most` may be large
}

// Estimates how much the surroundings of a token have changed since the token was computed. Assumes that the
// object that changed the token moves away steadily, and that the object's influence falls with the distance.
// So a token that has stopped changing is computed again soon, and then less and less often.
double StreamWatcher::staleness(int token) const {
    const double now = m_still[token] + 1.0;
    const double then = std::max(1.0, now - m_ages[token]);  // a postponed token's age is at least `now`
    return 1 / then - 1 / now;
}

// Marks `count` of the kept tokens as refreshed, the highest scores first.
template <class Score>
void StreamWatcher::refresh(int count, FramePlan& plan, const Score& scoreOf) const {
    std::vector<int> order;
    std::vector<double> scores(m_ages.size());
    for (int t = 0; t < static_cast<int>(m_ages.size()); ++t) {
        scores[t] = scoreOf(t);
        if (plan.reasons[t] == ReuseReason::Kept) order.push_back(t);
    }
    count = std::min(count, static_cast<int>(order.size()));
    const auto before = [&](int a, int b) {
        return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
    };
    std::nth_element(order.begin(), order.begin() + count, order.end(), before);
    for (int i = 0; i < count; ++i)
        plan.reasons[order[i]] = ReuseReason::Refreshed;
}

int StreamWatcher::markChanged(const Reuse& reuse, const std::vector<float>& changes, FramePlan& plan) const {
    const int tokens = static_cast<int>(changes.size());
    const auto refreshed =
        static_cast<int>(std::count(plan.reasons.begin(), plan.reasons.end(), ReuseReason::Refreshed));
    std::vector<int> others;
    for (int t = 0; t < tokens; ++t) {
        if (changes[t] == 0) continue;
        if (plan.reasons[t] == ReuseReason::Refreshed) {
            plan.reasons[t] = ReuseReason::Changed;
        } else {
            others.push_back(t);
        }
    }
    const size_t left = std::max(0, shareOf(reuse.budget, tokens) - refreshed);
    if (others.size() > left) {
        std::stable_sort(others.begin(), others.end(), [&](int a, int b) { return changes[a] > changes[b]; });
    }
    for (size_t i = 0; i < others.size(); ++i)
        plan.reasons[others[i]] = i < left ? ReuseReason::Changed : ReuseReason::Postponed;
    return refreshed + static_cast<int>(std::min(others.size(), left));
}

// Updates the ages, and copies the tokens that are computed to m_reference.
void StreamWatcher::finishPlan(const FrameRows& frame, FramePlan& plan) {
    constexpr int kMost = std::numeric_limits<int>::max();
    for (int t = 0; t < frame.tokens; ++t) {
        m_ages[t] = std::min(m_ages[t], kMost - 1) + 1;
        const ReuseReason why = plan.reasons[t];
        const bool moved = plan.state == ReuseState::Full
                               ? m_fullInARow > 0
                               : why == ReuseReason::Changed || why == ReuseReason::Postponed;
        m_still[t] = moved ? 0 : std::min(m_still[t], kMost - 1) + 1;
    }
    for (int t : plan.tokens) {
        m_ages[t] = 0;
        std::copy_n(frame.token(t), frame.dim, &m_reference[static_cast<size_t>(t) * frame.dim]);
    }
    plan.ages = m_ages;
}

}  // namespace mpm
