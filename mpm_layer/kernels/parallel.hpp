// OpenCV's thread pool, the only one in the process that this library uses.
#pragma once

#include <atomic>

#include <opencv2/core/utility.hpp>

namespace mpm {

/// body(0) ... body(count - 1), in any order, on OpenCV's threads. `grain` neighbours stay together where
/// given.
template <class Body>
void parallelFor(int count, const Body& body, int grain = 0) {
    // The pool orders all this by itself; the counter says so in a way that ThreadSanitizer sees.
    std::atomic<int> order{0};
    order.fetch_add(1, std::memory_order_release);
    const double stripes = grain > 0 ? (count + grain - 1) / grain : -1.0;
    cv::parallel_for_(
        cv::Range(0, count),
        [&](const cv::Range& range) {
            order.load(std::memory_order_acquire);
            for (int i = range.start; i < range.end; ++i)
                body(i);
            order.fetch_add(1, std::memory_order_release);
        },
        stripes);
    order.load(std::memory_order_acquire);
}

}  // namespace mpm
