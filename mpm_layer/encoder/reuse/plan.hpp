// The plan of a frame decides which rows of the frame are computed again.
#pragma once

#include <cstdint>
#include <vector>

#include <mpm/mpm.hpp>

namespace mpm {

/// Throws if a value is out of range; the message names the value.
void checkReuse(const Reuse& reuse);

/// Reads the reuse options of a model file, in the format of reuseFrom(). Throws if the text is invalid, or
/// if it is "on" or "off".
Reuse reuseOfFile(const std::string& text);

bool sameReuse(const Reuse& a, const Reuse& b);

/// The rows of a frame: special rows, image tokens, trailing rows.
struct FrameRows {
    const float* data = nullptr;
    int special = 0, tokens = 0, trailing = 0, dim = 0;

    int rows() const { return special + tokens + trailing; }
    const float* row(int r) const { return data + static_cast<size_t>(r) * dim; }
    const float* token(int t) const { return row(special + t); }
};

struct FramePlan {
    ReuseState state = ReuseState::Full;
    bool remembers = true;    ///< false: the frame runs without memory, and the stream's memory is dropped
    std::int64_t number = 0;  ///< number of the frame in the stream
    bool idle = false;        ///< no row is computed, not even special rows, because all outputs are known
    std::vector<int> tokens;  ///< image tokens to compute, ascending
    std::vector<ReuseReason> reasons;
    std::vector<int> ages;  ///< frames since each token was computed; empty in plans of StreamFollower
};

class StreamFollower {
public:
    void restart() { m_previous.clear(); }
    /// Follows `lead`, the plan of another encoder. The new plan has the tokens of `lead.tokens`, tokens with
    /// changed bits, and tokens that only this encoder has. If this encoder did not follow the previous
    /// frame, the new plan has all tokens. If `lead` does not remember, or the frame has a value that is not
    /// finite, the new plan does not remember either.
    FramePlan next(const FrameRows& frame, const FramePlan& lead);

private:
    FramePlan planPartial(const FrameRows& frame, const FramePlan& lead) const;
    bool changed(const FrameRows& frame, int row) const;

    std::int64_t m_number = 0;      ///< FramePlan::number of the last plan that was followed
    std::vector<float> m_previous;  ///< all rows of the previous frame; empty if no frame is kept
};

}  // namespace mpm
