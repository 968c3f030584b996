// Replaces an RTSP camera: Debian's gst-rtsp-server in a separate process, which a test can kill, pause and
// restart.
#pragma once

#include <csignal>

#include <QProcess>
#include <QString>

#include "gui/patience.hpp"

namespace mpm::gui::test {

class RtspServer {
public:
    explicit RtspServer(int port) : m_port(port) {}
    ~RtspServer() { kill(); }

    /// `frames`: frames a second, width, height; if empty, the server's defaults.
    bool start(const QStringList& frames = {}) {
        m_process.start(QStringLiteral(MPM_RTSP_SERVER), QStringList{QString::number(m_port)} + frames);
        return m_process.waitForStarted() &&
               m_process.waitForReadyRead(patience(10'000));  // the server prints "ready"
    }
    void kill() {
        m_process.kill();  // works even if the server is paused
        m_process.waitForFinished();
    }
    /// Pauses the server: connections stay open, but no data arrive.
    void stall(bool on) { ::kill(static_cast<pid_t>(m_process.processId()), on ? SIGSTOP : SIGCONT); }
    QString url() const { return QStringLiteral("rtsp://127.0.0.1:%1/camera").arg(m_port); }

private:
    const int m_port;
    QProcess m_process;
};

}  // namespace mpm::gui::test
