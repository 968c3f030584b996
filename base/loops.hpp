// Loops on OpenCV's thread pool, the only pool that this project uses.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include <opencv2/core/utility.hpp>

namespace mpm {

/// Synchronises the threads of a loop for ThreadSanitizer, which does not see the synchronisation inside
/// OpenCV's pool.
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

/// Calls body(range) on OpenCV's threads, in any order, for ranges that together cover 0..count - 1. If
/// `grain` is above 0, each range has about `grain` entries.
template <class Body>
void parallelRanges(int count, const Body& body, int grain = 0) {
    const ParallelBody<Body> loop(body);
    g_loopOrder.fetch_add(1, std::memory_order_release);
    cv::parallel_for_(cv::Range(0, count), loop, grain > 0 ? (count + grain - 1) / grain : -1.0);
    g_loopOrder.load(std::memory_order_acquire);
}

/// Calls body(0) ... body(count - 1) on OpenCV's threads, in any order.
template <class Body>
void parallelFor(int count, const Body& body, int grain = 0) {
    const auto each = [&](const cv::Range& range) {
        for (int i = range.start; i < range.end; ++i)
            body(i);
    };
    parallelRanges(count, each, grain);
}

template <class Value>
void parallelCopy(const Value* from, size_t count, Value* to) {
    constexpr size_t kChunk = 1 << 14;
    parallelFor(static_cast<int>((count + kChunk - 1) / kChunk), [&](int k) {
        const size_t first = static_cast<size_t>(k) * kChunk;
        std::copy_n(from + first, std::min(kChunk, count - first), to + first);
    });
}

}  // namespace mpm
