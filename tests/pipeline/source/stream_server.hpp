// An HTTP server that sends motion JPEG like a network camera. Tests can kill, stall and restart it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace mpm::test {

class StreamServer {
public:
    /// The first start() chooses a free port; later starts use the same port.
    StreamServer();
    ~StreamServer();
    StreamServer(const StreamServer&) = delete;
    StreamServer& operator=(const StreamServer&) = delete;

    void start();
    void kill();                             ///< closes every connection and the port
    void stall(bool on) { m_stalled = on; }  ///< connections stay open, but no data are sent
    std::string url() const;
    /// Serves this file instead of images, and closes the connection after `sent` bytes. Call before start().
    void setFile(std::vector<unsigned char> file, std::size_t sent) {
        m_file = std::move(file);
        m_sent = sent;
    }
    /// Sets a function that returns a JPEG for every frame, just before the frame is sent. Without it, all
    /// frames are the same. Call before start().
    using Film = std::function<std::vector<unsigned char>()>;
    void setFilm(Film film, std::chrono::milliseconds pause) {
        m_film = std::move(film);
        m_pause = pause;
    }

private:
    void serve();
    void feed(int connection);

    std::vector<unsigned char> m_image;  ///< a JPEG
    std::vector<unsigned char> m_file;
    std::size_t m_sent = 0;
    Film m_film;
    std::chrono::milliseconds m_pause{15};
    int m_port = 0, m_listener = -1;
    std::atomic<bool> m_running{false}, m_stalled{false};
    std::thread m_thread;
};

}  // namespace mpm::test
