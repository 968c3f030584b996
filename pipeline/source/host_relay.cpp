#include "pipeline/source/host_relay.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include <opencv2/core.hpp>

#include "pipeline/source/address_parts.hpp"

namespace mpm::pipeline {

namespace {

constexpr int kSlice = 100;                       // milliseconds between checks of m_stop
constexpr int kSlices = 100;                      // limit on slices for a connection or a request
constexpr std::size_t kLargestRequest = 1 << 16;  // bytes

using Authority = HostRelay::Authority;
using Request = HostRelay::Request;

/// Parses an authority such as "user@[::1]:8443"; `port`: the port if `text` has none.
Authority authorityOf(std::string text, const char* port) {
    text.erase(0, text.rfind('@') + 1);  // without '@', erases nothing: npos + 1 is 0
    const std::size_t bracket = text.rfind(']'),
                      colon = text.find(':', bracket == std::string::npos ? 0 : bracket);
    if (colon == std::string::npos) return {lowered(text), port};
    return {lowered(text.substr(0, colon)), text.substr(colon + 1)};
}

/// Splits an address into the authority and the path with the query. Returns nothing if the scheme differs.
std::optional<std::pair<std::string, std::string>> splitAt(const std::string& address,
                                                           const std::string& scheme) {
    if (lowered(address.substr(0, scheme.size())) != scheme) return std::nullopt;
    const std::size_t end = std::min(address.find_first_of("/?#\\", scheme.size()), address.size());
    return std::pair(address.substr(scheme.size(), end - scheme.size()), address.substr(end));
}

std::optional<Request> requestOf(const std::string& head) {
    const std::string line = head.substr(0, head.find("\r\n"));
    const std::size_t first = line.find(' '), second = line.rfind(' ');
    if (first == std::string::npos || second <= first) return std::nullopt;
    const std::string target = line.substr(first + 1, second - first - 1);
    if (line.compare(0, first, "CONNECT") == 0) return Request{true, authorityOf(target, "443"), {}};
    const auto parts = splitAt(target, "http://");
    if (!parts) return std::nullopt;
    const std::string path =
        parts->second.empty() || parts->second[0] != '/' ? "/" + parts->second : parts->second;
    return Request{false, authorityOf(parts->first, "80"),
                   line.substr(0, first + 1) + path + line.substr(second)};
}

/// Returns the proxy that the user has set for FFmpeg.
std::optional<Authority> proxyOfUser() {
    const char* set = std::getenv("http_proxy");
    const auto parts = set != nullptr ? splitAt(set, "http://") : std::nullopt;
    if (!parts) return std::nullopt;
    return authorityOf(parts->first, "80");
}

bool isReady(int socket, short events, const std::atomic<bool>& stop, int looks) {
    for (pollfd waiting{socket, events, 0}; looks > 0 && !stop; --looks)
        if (poll(&waiting, 1, kSlice) > 0) return true;
    return false;
}

Descriptor connectTo(const Authority& to, const std::atomic<bool>& stop) {
    std::string host = to.host;
    if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(host.c_str(), to.port.c_str(), &hints, &found) != 0) return {};
    Descriptor connected;
    for (const addrinfo* at = found; at != nullptr && connected.get() < 0; at = at->ai_next) {
        Descriptor socket(
            ::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol));
        if (socket.get() < 0) continue;
        int error = ::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
        socklen_t size = sizeof error;
        if (error == EINPROGRESS && isReady(socket.get(), POLLOUT, stop, kSlices))
            getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
        if (error == 0) connected = std::move(socket);
    }
    freeaddrinfo(found);
    return connected;
}

/// Receives bytes and appends them to `bytes`. Returns false if the connection has ended.
bool receive(int from, std::string& bytes) {
    char buffer[1 << 14];
    const ssize_t count = recv(from, buffer, sizeof buffer, 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    bytes.append(buffer, static_cast<std::size_t>(count));
    return count > 0;
}

constexpr const char* kHeadEnd = "\r\n\r\n";

std::string answer(const char* status) {
    return std::string("HTTP/1.1 ") + status + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

}  // namespace

bool namesPlaylist(const std::string& address) {
    return (splitAt(address, "http://") || splitAt(address, "https://")) &&
           lowered(address).find(".m3u") != std::string::npos;
}

HostRelay::HostRelay(const std::string& address)
    : m_listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    auto parts = splitAt(address, "http://");
    if (!parts) parts = splitAt(address, "https://");
    CV_Assert(parts.has_value());
    m_host = authorityOf(parts->first, "").host;
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    auto* const place = reinterpret_cast<sockaddr*>(&here);
    if (bind(m_listener.get(), place, size) != 0 || listen(m_listener.get(), 16) != 0 ||
        getsockname(m_listener.get(), place, &size) != 0)
        CV_Error(cv::Error::StsError, "no port of this machine is free for a playlist");
    m_port = ntohs(here.sin_port);
    m_thread = std::thread([this] { accept(); });
}

HostRelay::~HostRelay() {
    m_stop = true;
    m_thread.join();
    for (Connection& connection : m_connections)
        connection.thread.join();
}

void HostRelay::accept() {
    while (!m_stop) {
        if (!isReady(m_listener.get(), POLLIN, m_stop, 1)) continue;
        m_connections.remove_if([](Connection& connection) {
            if (connection.over) connection.thread.join();
            return connection.over.load();
        });
        const int client = accept4(m_listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client < 0) continue;
        Connection& connection = m_connections.emplace_back();
        connection.thread = std::thread([this, client, &connection] {
            const Descriptor owner(client);
            serve(client);
            connection.over = true;
        });
    }
}

void HostRelay::serve(int client) {
    std::string head;
    while (head.find(kHeadEnd) == std::string::npos)
        if (head.size() > kLargestRequest || !isReady(client, POLLIN, m_stop, kSlices) ||
            !receive(client, head))
            return;
    const auto request = requestOf(head);
    if (!isAllowed(request)) {
        send(client, answer("403 Forbidden"));
        return;
    }
    const auto proxy = proxyOfUser();
    const Descriptor server = connectTo(proxy.value_or(request->to), m_stop);
    if (server.get() < 0) {
        send(client, answer("502 Bad Gateway"));
        return;
    }
    if (!request->tunnel) return passRequests(client, server.get(), std::move(head), proxy.has_value());
    if (!proxy) {
        if (!send(client, "HTTP/1.1 200 OK\r\n\r\n")) return;
        head.erase(0, head.find(kHeadEnd) + 4);
    }
    while (send(server.get(), std::exchange(head, {})) && passBytes(client, server.get(), head)) {
    }
}

bool HostRelay::isAllowed(const std::optional<Request>& request) {
    if (request && request->to.host == m_host) return true;
    if (request) m_refused = true;
    return false;
}

/// Checks every request of a connection, not only the first, because FFmpeg reuses connections. Passes on
/// the allowed requests.
void HostRelay::passRequests(int client, int server, std::string heads, bool toProxy) {
    do {
        for (std::size_t end; (end = heads.find(kHeadEnd)) != std::string::npos; heads.erase(0, end)) {
            end += 4;
            const std::string head = heads.substr(0, end);
            const auto request = requestOf(head);
            if (!isAllowed(request) || request->tunnel) return;
            if (!send(server, toProxy ? head : request->line + head.substr(head.find("\r\n")))) return;
        }
    } while (heads.size() <= kLargestRequest && passBytes(client, server, heads));
}

/// Waits for bytes. Sends bytes of the server to the client, and appends bytes of the client to `requests`.
/// Returns false if the client or the server has closed the connection, or if the relay stops.
bool HostRelay::passBytes(int client, int server, std::string& requests) const {
    pollfd sides[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    while (poll(sides, 2, kSlice) <= 0)
        if (m_stop) return false;
    std::string bytes;
    if (sides[1].revents != 0 && (!receive(server, bytes) || !send(client, bytes))) return false;
    return sides[0].revents == 0 || receive(client, requests);
}

bool HostRelay::send(int to, const std::string& bytes) const {
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t count = ::send(to, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
        if (count > 0) done += static_cast<std::size_t>(count);
        if (count > 0 || errno == EINTR) continue;
        if (errno != EAGAIN) return false;
        while (!isReady(to, POLLOUT, m_stop, 1))  // no time limit, because the client may pause
            if (m_stop) return false;
    }
    return true;
}

}  // namespace mpm::pipeline
