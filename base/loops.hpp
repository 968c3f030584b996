// Loops on OpenCV's thread pool, the only pool that this project uses.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

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
/// `grain` is above 0, each range has about `grain` indices.
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

/// Calls body(0) ... body(count - 1): in parallel if there are enough calls; else one after another, so that
/// each call may use threads.
template <class Body>
void parallelParts(int count, const Body& body) {
    if (count >= 2 * std::max(1, cv::getNumThreads())) return parallelFor(count, body, 1);
    for (int i = 0; i < count; ++i)
        body(i);
}

template <class Value>
void parallelCopy(const Value* from, size_t count, Value* to) {
    constexpr size_t kChunk = 1 << 14;
    parallelFor(static_cast<int>((count + kChunk - 1) / kChunk), [&](int k) {
        const size_t first = static_cast<size_t>(k) * kChunk;
        std::copy_n(from + first, std::min(kChunk, count - first), to + first);
    });
}

/// Threads that run several short loops one after another. Between loops, the threads of a team do not sleep,
/// because waking a thread takes longer than a short loop. In each loop, a thread begins with the same share
/// of the range, whose data may be in the thread's cache.
class Team {
public:
    /// Calls lead(team) on a thread. At most `most` threads run the loops of `lead`.
    template <class Lead>
    static void run(int most, const Lead& lead) {
        Team team(std::clamp(cv::getNumThreads(), 1, std::max(most, 1)));
        const auto join = [&](int) {
            const int member = team.m_members++;
            if (member > 0) return team.help(member);
            const Ending ending{team};
            lead(team);
        };
        parallelFor(team.size(), join, 1);
    }

    /// Returns the largest number of threads.
    int size() const { return static_cast<int>(m_shares.size()); }

    /// Calls body(index, member) for each index below `count`, in any order. `member` is the number of the
    /// calling thread, below size().
    template <class Body>
    void each(int count, const Body& body) {
        for (int s = 0; s < size(); ++s) {
            m_shares[s].next = static_cast<int>(static_cast<std::int64_t>(count) * s / size());
            m_shares[s].end = static_cast<int>(static_cast<std::int64_t>(count) * (s + 1) / size());
        }
        m_body = &body;
        m_call = [](const void* called, int index, int member) {
            (*static_cast<const Body*>(called))(index, member);
        };
        m_loop = ++m_loops;
        work(0);
        m_loop = kNone;
        // A helper increments m_inside before it checks m_loop, so from now on no helper begins to work.
        for (int turns = 0; m_inside > 0; ++turns)
            pause(turns);
        if (m_error) std::rethrow_exception(std::exchange(m_error, nullptr));
    }

private:
    static constexpr int kNone = 0, kEnd = -1;

    struct alignas(64) Share {
        std::atomic<int> next{0};
        int end = 0;
    };

    explicit Team(int size) : m_shares(size) {}

    struct Ending {
        Team& team;
        ~Ending() { team.m_loop = kEnd; }
    };

    static void pause(int turns) {
        if (turns > 200) std::this_thread::yield();
    }

    void help(int member) {
        int seen = kNone;
        for (int turns = 0;; ++turns) {
            const int loop = m_loop;
            if (loop == kEnd) return;
            if (loop == kNone || loop == seen) {
                pause(turns);
                continue;
            }
            ++m_inside;
            if (m_loop == loop) work(member);
            --m_inside;
            seen = loop;
            turns = 0;
        }
    }

    void work(int member) {
        try {
            for (int s = 0; s < size(); ++s) {
                Share& share = m_shares[(member + s) % size()];
                for (int index = share.next++; index < share.end; index = share.next++)
                    m_call(m_body, index, member);
            }
        } catch (...) {
            const std::lock_guard<std::mutex> lock(m_guard);
            if (!m_error) m_error = std::current_exception();
        }
    }

    std::vector<Share> m_shares;
    std::atomic<int> m_members{0}, m_inside{0};
    std::atomic<int> m_loop{kNone};  // the number of the running loop, kNone or kEnd
    int m_loops = 0;
    const void* m_body = nullptr;
    void (*m_call)(const void*, int, int) = nullptr;
    std::mutex m_guard;
    std::exception_ptr m_error;
};

}  // namespace mpm
