// Loops on OpenCV's threads.
#pragma once

#include <atomic>

#include <opencv2/core/utility.hpp>

namespace mpm::pipeline {

/// The pool orders a loop's parts by itself, but out of sight of ThreadSanitizer: this counter says it again
/// where it sees.
inline std::atomic<unsigned> g_loopOrder{0};

template <class Body>
class ParallelBody : public cv::ParallelLoopBody {
public:
    explicit ParallelBody(const Body& body) : m_body(body) {}

    void operator()(const cv::Range& range) const override {
        g_loopOrder.load(std::memory_order_acquire);
        m_body(range);
        g_loopOrder.fetch_add(1, std::memory_order_release);
    }

private:
    const Body& m_body;
};

/// body(range) for ranges that together are 0..count, in any order and side by side.
template <class Body>
void parallelRanges(int count, const Body& body) {
    const ParallelBody<Body> loop(body);
    g_loopOrder.fetch_add(1, std::memory_order_release);
    cv::parallel_for_(cv::Range(0, count), loop);
    g_loopOrder.load(std::memory_order_acquire);
}

}  // namespace mpm::pipeline
