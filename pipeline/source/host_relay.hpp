// A local HTTP proxy that connects to a single host. FFmpeg reads HLS playlists through this proxy, so that a
// part, an update or a redirection of a playlist cannot make FFmpeg connect to another host.
#pragma once

#include <atomic>
#include <list>
#include <optional>
#include <string>
#include <thread>

#include "base/descriptors.hpp"

namespace mpm::pipeline {

/// Returns whether an address is an HLS playlist: an HTTP or HTTPS address that contains ".m3u8" or ".m3u".
bool namesPlaylist(const std::string& address);

class HostRelay {
public:
    /// Allows only the host of `address`, on any port. Throws cv::Exception if no local port is free.
    explicit HostRelay(const std::string& address);
    ~HostRelay();
    HostRelay(const HostRelay&) = delete;
    HostRelay& operator=(const HostRelay&) = delete;

    struct Authority {
        std::string host, port;  ///< an IPv6 host has brackets: "[::1]"
    };
    /// The first line of a request to a proxy.
    struct Request {
        bool tunnel = false;
        Authority to;
        std::string line;  ///< the line for the server, without the host
    };

    int port() const { return m_port; }
    bool refused() const { return m_refused; }  ///< whether a request for another host was refused

private:
    struct Connection {
        std::atomic<bool> over{false};
        std::thread thread;
    };
    void accept();
    void serve(int client);
    bool isAllowed(const std::optional<Request>& request);
    void passRequests(int client, int server, std::string heads, bool toProxy);
    bool passBytes(int client, int server, std::string& requests) const;
    bool send(int to, const std::string& bytes) const;

    std::string m_host;
    std::atomic<bool> m_stop{false}, m_refused{false};
    int m_port = 0;
    Descriptor m_listener;
    std::list<Connection> m_connections;  // only m_thread uses this list until m_thread ends
    std::thread m_thread;
};

}  // namespace mpm::pipeline
