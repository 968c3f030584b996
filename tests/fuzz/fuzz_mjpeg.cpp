// Fuzzes the replies of an HTTP camera, which a server on this machine sends. Opening the source must give
// frames or a clear error, within the time limits.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "pipeline/source/source.hpp"

namespace {

/// Sends the same reply to every client, then closes.
class Server {
public:
    Server() {
        m_listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        if (bind(m_listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(m_listener, 8) != 0)
            return;
        getsockname(m_listener, reinterpret_cast<sockaddr*>(&address), &size);
        m_url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/s";
    }
    ~Server() { close(m_listener); }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    const std::string& url() const { return m_url; }

    void serve(const std::uint8_t* data, std::size_t size, const std::atomic<bool>& running) const {
        while (running) {
            pollfd waiting{m_listener, POLLIN, 0};
            if (poll(&waiting, 1, 5) <= 0) continue;
            const int client = accept4(m_listener, nullptr, nullptr, SOCK_CLOEXEC);
            if (client < 0) continue;
            const timeval patience{1, 0};
            setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
            setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
            char request[2048];
            if (recv(client, request, sizeof request, 0) > 0)
                static_cast<void>(send(client, data, size, MSG_NOSIGNAL));
            close(client);
        }
    }

private:
    int m_listener = -1;
    std::string m_url;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Server server;
    const std::string text(reinterpret_cast<const char*>(data), size);
    // Skips replies with redirects, which could lead to other machines.
    if (text.find("ocation") != std::string::npos || text.find("://") != std::string::npos) return 0;
    std::atomic<bool> running{true};
    std::thread thread([&] { server.serve(data, size, running); });
    mpm::pipeline::SourceOptions options;
    options.openTimeout = options.readTimeout = std::chrono::milliseconds(500);
    try {
        const auto source = mpm::pipeline::makeSource(server.url(), options);
        source->open();
        mpm::pipeline::Frame frame;
        for (int i = 0; i < 4 && source->next(frame); ++i) {
        }
    } catch (const mpm::pipeline::SourceError&) {
    }
    running = false;
    thread.join();
    return 0;
}
