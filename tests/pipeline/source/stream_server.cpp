#include "pipeline/source/stream_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>

#include <opencv2/imgcodecs.hpp>

namespace mpm::test {

namespace {

bool sendAll(int connection, const void* data, size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
        const ssize_t sent = send(connection, at, size, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        at += sent;
        size -= static_cast<size_t>(sent);
    }
    return true;
}

bool sendText(int connection, const std::string& text) {
    return sendAll(connection, text.data(), text.size());
}

}  // namespace

StreamServer::StreamServer() {
    cv::Mat image(48, 64, CV_8UC3, cv::Scalar(40, 90, 200));
    cv::imencode(".jpg", image, m_image);
}

StreamServer::~StreamServer() {
    kill();
}

std::string StreamServer::url() const {
    return "http://user:secret@127.0.0.1:" + std::to_string(m_port) + "/stream.mjpg";
}

void StreamServer::start() {
    m_listener = socket(AF_INET, SOCK_STREAM, 0);
    const int yes = 1;
    setsockopt(m_listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(m_port));
    if (bind(m_listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        listen(m_listener, 4) != 0)
        throw std::runtime_error("the test's server cannot listen");
    socklen_t size = sizeof address;
    getsockname(m_listener, reinterpret_cast<sockaddr*>(&address), &size);
    m_port = ntohs(address.sin_port);
    m_running = true;
    m_thread = std::thread([this] { serve(); });
}

void StreamServer::kill() {
    m_running = false;
    if (m_thread.joinable()) m_thread.join();
    if (m_listener >= 0) close(m_listener);
    m_listener = -1;
}

void StreamServer::serve() {
    while (m_running) {
        pollfd waiting{m_listener, POLLIN, 0};
        if (poll(&waiting, 1, 20) <= 0) continue;
        const int connection = accept(m_listener, nullptr, nullptr);
        if (connection < 0) continue;
        feed(connection);
        // Resets the connection as a killed camera does, instead of closing it.
        const linger now{1, 0};
        setsockopt(connection, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(connection);
    }
}

void StreamServer::feed(int connection) {
    char request[2048];
    if (recv(connection, request, sizeof request, 0) <= 0) return;
    if (!m_file.empty()) {
        sendText(connection, "HTTP/1.0 200 OK\r\nContent-Type: video/x-msvideo\r\nContent-Length: " +
                                 std::to_string(m_file.size()) + "\r\n\r\n");
        sendAll(connection, m_file.data(), m_sent);
        shutdown(connection, SHUT_WR);
        while (recv(connection, request, sizeof request, 0) > 0) {
        }  // waits, because a reset would discard bytes that the client has not read yet
        return;
    }
    if (!sendText(connection,
                  "HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=frame\r\n\r\n"))
        return;
    while (m_running) {
        std::this_thread::sleep_for(m_pause);
        if (m_stalled) continue;
        if (m_film) m_image = m_film();
        const std::string head =
            "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: " + std::to_string(m_image.size()) +
            "\r\n\r\n";
        if (!sendText(connection, head) || !sendAll(connection, m_image.data(), m_image.size())) return;
        if (!sendText(connection, "\r\n")) return;
    }
}

}  // namespace mpm::test
