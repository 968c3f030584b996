// Which rows an encoder computes again whose tokens come from one that reuses: a decoder, or the next part of
// a chain.
#pragma once

#include <vector>

#include "mpm_layer/encoder/reuse/plan.hpp"

namespace mpm {

class StreamFollower {
public:
    void restart() { m_previous.clear(); }
    /// In addition to the rows that `lead` computes: image tokens whose bits changed, and rows that `lead`
    /// does not have.
    FramePlan next(const FrameRows& frame, const FramePlan& lead);

private:
    FramePlan planPartial(const FrameRows& frame, const FramePlan& lead) const;
    bool changed(const FrameRows& frame, int row) const;

    std::vector<float> m_previous;  ///< all rows of the frame before; empty if none is kept
};

}  // namespace mpm
