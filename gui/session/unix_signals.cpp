#include "gui/session/unix_signals.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <QSocketNotifier>

namespace mpm::gui {

namespace {

int g_pipe[2] = {-1, -1};

/// Only wakes the event loop, because most functions are unsafe in a signal handler.
void onSignal(int) {
    const char byte = 1;
    [[maybe_unused]] const ssize_t written = write(g_pipe[1], &byte, 1);
}

void handle(void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    for (const int number : {SIGINT, SIGTERM})
        sigaction(number, &action, nullptr);
}

}  // namespace

UnixSignals::UnixSignals() {
    if (pipe2(g_pipe, O_CLOEXEC) != 0) return;
    auto* notifier = new QSocketNotifier(g_pipe[0], QSocketNotifier::Read, this);
    connect(notifier, &QSocketNotifier::activated, this, [this] {
        char byte = 0;
        if (read(g_pipe[0], &byte, 1) == 1) emit endWanted();
    });
    handle(onSignal);
}

UnixSignals::~UnixSignals() {
    handle(SIG_DFL);
    for (int& end : g_pipe) {
        if (end >= 0) close(end);
        end = -1;
    }
}

void notifySystemd(const char* state) {
    const char* path = std::getenv("NOTIFY_SOCKET");
    if (path == nullptr || *path == '\0') return;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (std::strlen(path) >= sizeof address.sun_path) return;
    std::memcpy(address.sun_path, path, std::strlen(path));
    if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // '@' marks an abstract socket name
    const int socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return;
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
    sendto(socket_, state, std::strlen(state), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address), length);
    close(socket_);
}

}  // namespace mpm::gui
