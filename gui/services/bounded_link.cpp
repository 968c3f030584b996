#include "gui/services/bounded_link.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace mpm::gui {

namespace {

constexpr std::chrono::milliseconds kPatience{1'000};  // longest time for sending the remaining bytes

[[noreturn]] void fail(const char* call) {
    throw std::system_error(errno, std::generic_category(), call);
}

bool wouldBlock() {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/// Fills an empty buffer. Returns false after an error, or if the other side has closed (`errno` is then 0).
bool fill(int from, std::string& buffer) {
    std::array<char, 4096> bytes{};
    const ssize_t count = recv(from, bytes.data(), bytes.size(), 0);
    if (count == 0) errno = 0;
    if (count > 0) buffer.assign(bytes.data(), static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && wouldBlock());
}

bool drain(int to, std::string& buffer) {
    const ssize_t count = send(to, buffer.data(), buffer.size(), MSG_NOSIGNAL);
    if (count > 0) buffer.erase(0, static_cast<std::size_t>(count));
    return count >= 0 || wouldBlock();
}

}  // namespace

BoundedLink::BoundedLink(int socket) {
    m_outside = Descriptor(fcntl(socket, F_DUPFD_CLOEXEC, 3));
    m_stop = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    int pair[2] = {-1, -1};
    if (m_outside.get() < 0 || m_stop.get() < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        fail("socketpair");
    m_inside = Descriptor(pair[0]);
    const Descriptor library(pair[1]);
    fcntl(m_outside.get(), F_SETFL, fcntl(m_outside.get(), F_GETFL) | O_NONBLOCK);
    if (dup3(library.get(), socket, O_CLOEXEC) < 0) fail("dup3");
    m_thread = std::thread([this] { run(); });
}

BoundedLink::~BoundedLink() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(m_stop.get(), &one, sizeof one);
    m_thread.join();
}

std::string BoundedLink::problem() const {
    const std::lock_guard<std::mutex> lock(m_mutex);
    return m_problem;
}

std::int64_t BoundedLink::allowed() const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - m_begun).count();
    return kAtFirst + kForMessage * m_messages + kForSecond * seconds;
}

void BoundedLink::end(const std::string& problem) {
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        m_problem = problem;
    }
    shutdown(m_inside.get(), SHUT_RDWR);
    shutdown(m_outside.get(), SHUT_RDWR);
}

/// Returns true if the connection is established, false if it has failed.
bool BoundedLink::isConnected() {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(m_outside.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error == 0) return m_connected = true;
    end(std::strerror(error));
    return false;
}

/// Moves bytes from the library to the network.
bool BoundedLink::moveUp() {
    const bool open = !m_up.empty() || fill(m_inside.get(), m_up);
    if (open && (m_up.empty() || drain(m_outside.get(), m_up))) return true;
    end({});  // no problem to report: the library closed its socket, or sees the end at its next read
    return false;
}

bool BoundedLink::moveDown() {
    if (m_down.empty()) {
        if (!fill(m_outside.get(), m_down)) {
            end(errno == 0 ? std::string() : std::strerror(errno));
            return false;
        }
        m_received += static_cast<std::int64_t>(m_down.size());
        if (m_received > allowed()) {
            end("the broker sent " + std::to_string(m_received) + " bytes, more than a publisher can need");
            return false;
        }
    }
    if (m_down.empty() || drain(m_inside.get(), m_down)) return true;
    end({});
    return false;
}

void BoundedLink::run() {
    for (;;) {
        const auto events = [](bool in, bool out) {
            return static_cast<short>((in ? POLLIN : 0) | (out ? POLLOUT : 0));
        };
        pollfd ends[3] = {
            {m_stop.get(), POLLIN, 0},
            {m_outside.get(), events(m_connected && m_down.empty(), !m_connected || !m_up.empty()), 0},
            {m_connected ? m_inside.get() : -1, events(m_up.empty(), !m_down.empty()), 0}};
        if (poll(ends, 3, -1) < 0 && errno != EINTR) return end(std::strerror(errno));
        if (ends[0].revents != 0) return finish();
        const bool outside = ends[1].revents != 0, inside = ends[2].revents != 0;
        if (!m_connected) {
            if (outside && !isConnected()) return;
            continue;
        }
        const bool up = m_up.empty() ? inside : (ends[1].revents & ~POLLIN) != 0;
        const bool down = m_down.empty() ? outside : inside;
        if ((up && !moveUp()) || (down && !moveDown())) return;
    }
}

/// Sends the remaining bytes. Then reads until the other side closes: closing a socket that has unread bytes
/// could discard sent bytes.
void BoundedLink::finish() {
    const Clock::time_point until = Clock::now() + kPatience;
    bool sent = !m_connected;
    while (Clock::now() < until) {
        if (!sent && m_up.empty() && (!fill(m_inside.get(), m_up) || m_up.empty())) {
            sent = true;
            shutdown(m_outside.get(), SHUT_WR);
        }
        if (!m_up.empty() && !drain(m_outside.get(), m_up)) return;
        pollfd outside{m_outside.get(), static_cast<short>(POLLIN | (m_up.empty() ? 0 : POLLOUT)), 0};
        if (poll(&outside, 1, 50) < 0 && errno != EINTR) return;
        if (sent && !m_connected) return;
        std::string ignored;
        if ((outside.revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !fill(m_outside.get(), ignored)) return;
    }
}

}  // namespace mpm::gui
