// Between a library and its connection: limits how much the other side may send.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "base/descriptors.hpp"

namespace mpm::gui {

/// A client that only publishes gets a few bytes for each message. A library that would keep a message of any
/// size in memory never sees more than that.
class BoundedLink {
public:
    static constexpr std::int64_t kAtFirst = 64 << 10;  // bytes: greeting and certificates
    static constexpr std::int64_t kForMessage = 256, kForSecond = 64;

    /// Takes over the connection behind `socket`, connected or not yet, and puts a local connection in its
    /// place, under the same number. Throws std::system_error.
    explicit BoundedLink(int socket);
    /// Sends the bytes that the library wrote before, for a second at most.
    ~BoundedLink();
    BoundedLink(const BoundedLink&) = delete;
    BoundedLink& operator=(const BoundedLink&) = delete;

    /// Counts a message that was sent.
    void countMessage() { ++m_messages; }
    /// Why the connection ended; empty: the other side closed it, or it is open.
    std::string problem() const;

private:
    using Clock = std::chrono::steady_clock;

    void run();
    bool isConnected();
    bool moveUp();
    bool moveDown();
    void finish();
    void end(const std::string& problem);
    std::int64_t allowed() const;

    const Clock::time_point m_begun = Clock::now();
    Descriptor m_outside, m_inside, m_stop;
    std::atomic<std::int64_t> m_messages{0};
    std::int64_t m_received = 0;  // used by the thread only, as are the next three
    std::string m_up, m_down;
    bool m_connected = false;
    mutable std::mutex m_mutex;
    std::string m_problem;  // guarded by m_mutex
    std::thread m_thread;
};

}  // namespace mpm::gui
