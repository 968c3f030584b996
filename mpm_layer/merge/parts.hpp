// Loops over the images or windows of a batch, whose parts have loops of their own.
#pragma once

#include "base/loops.hpp"

namespace mpm {

/// body(0) ... body(count - 1): on threads if there are enough of them to share out, else in turn, so that
/// each may use threads itself.
template <class Body>
void parallelParts(int count, const Body& body) {
    if (count >= 2 * std::max(1, cv::getNumThreads())) return parallelFor(count, body, 1);
    for (int i = 0; i < count; ++i)
        body(i);
}

}  // namespace mpm
