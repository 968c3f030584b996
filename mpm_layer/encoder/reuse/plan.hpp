// The rows that one frame of a stream computes again.
#pragma once

#include <cstdint>
#include <vector>

#include <mpm/mpm.hpp>

namespace mpm {

/// Throws with the name of a value that is out of its range.
void checkReuse(const Reuse& reuse);

/// Of a model file: values, as in reuseFrom(), but neither on nor off. Throws on anything else.
Reuse reuseOfFile(const std::string& text);

bool sameReuse(const Reuse& a, const Reuse& b);

/// A frame's rows: special rows, image tokens, rows behind them.
struct FrameRows {
    const float* data = nullptr;
    int special = 0, tokens = 0, trailing = 0, dim = 0;

    int rows() const { return special + tokens + trailing; }
    const float* row(int r) const { return data + static_cast<size_t>(r) * dim; }
    const float* token(int t) const { return row(special + t); }
};

/// The rows that one frame computes.
struct FramePlan {
    ReuseState state = ReuseState::Full;
    bool remembers =
        true;  ///< false: the frame is computed beside the memory, which it neither uses nor changes
    std::int64_t number = 0;  ///< counts the frames of the stream
    bool idle = false;        ///< not even special rows are computed: all of it is known
    std::vector<int> tokens;  ///< to compute, ascending
    std::vector<ReuseReason> reasons;
    std::vector<int> ages;  ///< only of the encoder that decides
};

class StreamFollower {
public:
    void restart() { m_previous.clear(); }
    /// In addition to the rows that `lead` computes: image tokens whose bits changed, and rows that `lead`
    /// does not have. All rows if it did not follow the frame before.
    FramePlan next(const FrameRows& frame, const FramePlan& lead);

private:
    FramePlan planPartial(const FrameRows& frame, const FramePlan& lead) const;
    bool changed(const FrameRows& frame, int row) const;

    std::int64_t m_number = 0;      ///< of the frame of `lead` that it saw last
    std::vector<float> m_previous;  ///< all rows of the frame before; empty if none is kept
};

}  // namespace mpm
