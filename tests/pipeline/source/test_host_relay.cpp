// The proxy through which FFmpeg reads playlists: it connects only to a single host.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <vector>

#include "pipeline/source/host_relay.hpp"

namespace mpm::pipeline {
namespace {

constexpr time_t kPatience = 20;  // seconds for an answer

sockaddr_in local(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

void limit(int socket) {
    const timeval time{kPatience, 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

/// Reads until `text` has arrived or the connection is closed, and returns the bytes.
std::string until(int socket, const std::string& text) {
    std::string bytes;
    char byte = 0;
    while (bytes.size() < text.size() || bytes.compare(bytes.size() - text.size(), text.size(), text) != 0) {
        if (recv(socket, &byte, 1, 0) != 1) break;
        bytes += byte;
    }
    return bytes;
}

/// A server on this machine. The test accepts each connection with take().
struct Server {
    Server() : listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address = local(0);
        socklen_t size = sizeof address;
        EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(listen(listener.get(), 8), 0);
        getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
        port = std::to_string(ntohs(address.sin_port));
        limit(listener.get());
    }
    Descriptor take() const {
        Descriptor taken(accept(listener.get(), nullptr, nullptr));
        limit(taken.get());
        return taken;
    }
    bool wasCalled() const {
        pollfd waiting{listener.get(), POLLIN, 0};
        return poll(&waiting, 1, 0) > 0;
    }
    Descriptor listener;
    std::string port;
};

Descriptor ask(const HostRelay& relay, const std::string& text) {
    Descriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    limit(client.get());
    const sockaddr_in address = local(relay.port());
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(send(client.get(), text.data(), text.size(), MSG_NOSIGNAL), ssize_t(text.size()));
    return client;
}

void say(int to, const std::string& text) {
    EXPECT_EQ(send(to, text.data(), text.size(), MSG_NOSIGNAL), ssize_t(text.size()));
}

TEST(Playlist, IsNamedByItsAddress) {
    for (const char* address :
         {"http://cam/live.m3u8", "https://u:p@cam:8443/a/LIVE.M3U8?token=1", "http://cam/?f=x.m3u"})
        EXPECT_TRUE(namesPlaylist(address)) << address;
    for (const char* address :
         {"http://cam/live.mjpg", "rtsp://cam/live.m3u8", "file:///tmp/live.m3u8", "live.m3u8"})
        EXPECT_FALSE(namesPlaylist(address)) << address;
}

TEST(HostRelay, PassesRequestsOfAConnectionOn) {
    const Server server;
    const HostRelay relay("http://user:word@127.0.0.1:1/live.m3u8");
    const Descriptor client =
        ask(relay, "GET http://127.0.0.1:" + server.port + "/a?b=http://c HTTP/1.1\r\nHost: x\r\n\r\n");
    const Descriptor there = server.take();
    EXPECT_EQ(until(there.get(), "\r\n\r\n"), "GET /a?b=http://c HTTP/1.1\r\nHost: x\r\n\r\n");
    say(there.get(), "first");
    EXPECT_EQ(until(client.get(), "first"), "first");
    say(client.get(), "GET http://127.0.0.1:" + server.port + " HTTP/1.1\r\n");
    say(client.get(), "Range: bytes=0-\r\n\r\n");
    EXPECT_EQ(until(there.get(), "\r\n\r\n"), "GET / HTTP/1.1\r\nRange: bytes=0-\r\n\r\n");
    say(there.get(), "second");
    EXPECT_EQ(until(client.get(), "second"), "second");
    EXPECT_FALSE(relay.refused());
    // A later request on the same connection must not reach another host.
    say(client.get(), "GET http://127.1:" + server.port + "/ HTTP/1.1\r\n\r\n");
    EXPECT_EQ(until(there.get(), "\r\n"), "");
    EXPECT_EQ(until(client.get(), "\r\n"), "");
    EXPECT_TRUE(relay.refused());
}

TEST(HostRelay, OpensATunnelToTheHost) {
    const Server server;
    const HostRelay relay("https://127.0.0.1/live.m3u8");
    const Descriptor client = ask(relay, "CONNECT 127.0.0.1:" + server.port + " HTTP/1.1\r\n\r\n");
    EXPECT_EQ(until(client.get(), "\r\n\r\n").rfind("HTTP/1.1 200", 0), 0U);
    const Descriptor there = server.take();
    const std::string bytes = "\x16\x03\r\n\r\nGET http://other/ HTTP/1.1\r\n\r\nend";  // must not be parsed
    say(client.get(), bytes);
    EXPECT_EQ(until(there.get(), "end"), bytes);
    say(there.get(), "answer");
    EXPECT_EQ(until(client.get(), "answer"), "answer");
    EXPECT_FALSE(relay.refused());
}

TEST(HostRelay, CallsNoOtherHost) {
    const Server server;
    for (const std::string& request : std::vector<std::string>{
             "GET http://127.1:" + server.port + "/ HTTP/1.1", "CONNECT 127.1:" + server.port + " HTTP/1.1",
             "GET http://127.0.0.1@127.1:" + server.port + "/ HTTP/1.1",
             "GET HTTP://127.1:" + server.port + "?http://127.0.0.1/ HTTP/1.1"}) {
        const HostRelay relay("http://127.0.0.1/live.m3u8");
        const Descriptor client = ask(relay, request + "\r\n\r\n");
        EXPECT_EQ(until(client.get(), "\r\n\r\n").rfind("HTTP/1.1 403", 0), 0U) << request;
        EXPECT_TRUE(relay.refused()) << request;
    }
    for (const char* request :
         {"GET / HTTP/1.1", "nothing", "", "GET  HTTP/1.1", "GET ftp://127.0.0.1/ HTTP/1.1"}) {
        const HostRelay relay("http://127.0.0.1/live.m3u8");
        const Descriptor client = ask(relay, std::string(request) + "\r\n\r\n");
        EXPECT_EQ(until(client.get(), "\r\n\r\n").rfind("HTTP/1.1 403", 0), 0U) << request;
    }
    EXPECT_FALSE(server.wasCalled());
}

TEST(HostRelay, SaysThatTheHostDoesNotAnswer) {
    std::string port;
    {
        const Server gone;
        port = gone.port;
    }
    const HostRelay relay("http://127.0.0.1/live.m3u8");
    const Descriptor client = ask(relay, "GET http://127.0.0.1:" + port + "/ HTTP/1.1\r\n\r\n");
    EXPECT_EQ(until(client.get(), "\r\n\r\n").rfind("HTTP/1.1 502", 0), 0U);
    EXPECT_FALSE(relay.refused());
}

TEST(HostRelay, EndsWhileAClientReadsNothing) {
    const Server server;
    Descriptor client, there;
    {
        const HostRelay relay("http://127.0.0.1/live.m3u8");
        client = ask(relay, "GET http://127.0.0.1:" + server.port + "/ HTTP/1.1\r\n\r\n");
        there = server.take();
        until(there.get(), "\r\n\r\n");
        const std::string much(1 << 16, 'x');
        for (int i = 0; i < 1000; ++i)
            if (send(there.get(), much.data(), much.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
    }
    EXPECT_NE(client.get(), -1);
}

}  // namespace
}  // namespace mpm::pipeline
