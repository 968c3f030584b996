// A link between a network library and the network. The link limits the bytes that the library receives.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "base/descriptors.hpp"

namespace mpm::gui {

/// A client that only publishes needs to receive a few bytes for each message. The link ends the connection
/// if more bytes come, because the library would keep an incoming message of any size in memory.
class BoundedLink {
public:
    static constexpr std::int64_t kAtFirst = 64 << 10;  // bytes, for greeting and certificates
    static constexpr std::int64_t kForMessage = 256, kForSecond = 64;

    /// Takes over the connection of `socket`, even if the connection is not established yet. After that, the
    /// descriptor number `socket` is a local socket, through which the library talks to this link. Throws
    /// std::system_error.
    explicit BoundedLink(int socket);
    /// Spends at most a second on sending the bytes that the library has written.
    ~BoundedLink();
    BoundedLink(const BoundedLink&) = delete;
    BoundedLink& operator=(const BoundedLink&) = delete;

    /// Allows kForMessage more bytes from the network, for the answer to a message.
    void countMessage() { ++m_messages; }
    /// Returns why the connection ended; empty if the connection is open or either side closed it.
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
    std::int64_t m_received = 0;  // only the thread uses this and the next three members
    std::string m_up, m_down;
    bool m_connected = false;
    mutable std::mutex m_mutex;
    std::string m_problem;  // guarded by m_mutex
    std::thread m_thread;
};

}  // namespace mpm::gui
