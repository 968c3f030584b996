// An MQTT broker and a client, both from Debian's mosquitto, and two brokers that misbehave.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include <QElapsedTimer>
#include <QFile>
#include <QProcess>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTest>

#include "gui/patience.hpp"

namespace mpm::gui::test {

/// Returns a TCP port of 127.0.0.1 that no program uses at the moment.
inline int freePort() {
    QTcpServer server;
    server.listen(QHostAddress::LocalHost);
    return server.serverPort();
}

class Broker {
public:
    Broker(const QString& folder, const QString& more = QStringLiteral("allow_anonymous true"))
        : m_port(freePort()), m_config(folder + QStringLiteral("/mosquitto-%1.conf").arg(m_port)) {
        QFile file(m_config);
        file.open(QIODevice::WriteOnly);
        // Without `user root`, a broker that root runs would change to a user who may not read this folder.
        file.write(QStringLiteral("listener %1 127.0.0.1\nuser root\n%2\n").arg(m_port).arg(more).toUtf8());
    }
    ~Broker() { stop(); }

    bool start() {
        m_process.setProcessChannelMode(QProcess::MergedChannels);
        m_process.start(QStringLiteral("/usr/sbin/mosquitto"), {QStringLiteral("-c"), m_config});
        return QTest::qWaitFor([this] { return listening(); }, patience(10'000));
    }
    void stop() {
        m_process.kill();
        m_process.waitForFinished();
    }
    int port() const { return m_port; }
    QString log() { return QString::fromUtf8(m_process.readAll()); }

private:
    bool listening() const {
        QTcpSocket socket;
        socket.connectToHost(QStringLiteral("127.0.0.1"), quint16(m_port));
        return socket.waitForConnected(50);
    }
    const int m_port;
    const QString m_config;
    QProcess m_process;
};

/// Runs mosquitto_sub, which prints every message as "TOPIC PAYLOAD".
class Subscriber {
public:
    explicit Subscriber(int port) {
        m_process.start(
            QStringLiteral("mosquitto_sub"),
            {QStringLiteral("-h"), QStringLiteral("127.0.0.1"), QStringLiteral("-p"), QString::number(port),
             QStringLiteral("-t"), QStringLiteral("#"), QStringLiteral("-v")});
    }
    ~Subscriber() {
        m_process.kill();
        m_process.waitForFinished();
    }
    /// Returns the newest payload of a topic. If there is none yet, waits for one.
    QByteArray payload(const QString& topic) {
        QByteArray found;
        const QByteArray head = topic.toUtf8() + ' ';
        const bool came = QTest::qWaitFor(
            [&] {
                m_said += m_process.readAllStandardOutput();
                for (const QByteArray& line : m_said.split('\n'))
                    if (line.startsWith(head)) found = line.mid(head.size());
                return !found.isEmpty();
            },
            patience(20'000));
        return came ? found : QByteArray();
    }
    void forget() {
        m_process.readAllStandardOutput();
        m_said.clear();
    }
    const QByteArray& said() const { return m_said; }

private:
    QProcess m_process;
    QByteArray m_said;
};

/// Accepts a client, then sends an unrequested message of the largest size that MQTT allows.
class FloodingBroker {
public:
    FloodingBroker() {
        m_server.listen(QHostAddress::LocalHost);
        m_thread = std::thread([this, listener = int(m_server.socketDescriptor())] { serve(listener); });
    }
    ~FloodingBroker() {
        m_stops = true;
        m_thread.join();
    }
    int port() const { return m_server.serverPort(); }
    std::int64_t sent() const { return m_sent; }
    static constexpr std::int64_t kMessage = 256 << 20;

private:
    bool waits(int socket, short event) const {
        for (pollfd end{socket, event, 0}; !m_stops;)
            if (poll(&end, 1, 20) > 0) return true;
        return false;
    }
    void serve(int listener) {
        if (!waits(listener, POLLIN)) return;
        const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        const std::string answer("\x20\x02\x00\x00\x30\xff\xff\xff\x7f\x00\x01t", 12);
        if (waits(client, POLLIN))
            static_cast<void>(send(client, answer.data(), answer.size(), MSG_NOSIGNAL));
        const std::string part(65'536, 'x');
        while (m_sent < kMessage && waits(client, POLLOUT)) {
            const ssize_t count = send(client, part.data(), part.size(), MSG_NOSIGNAL);
            if (count < 0 && errno != EAGAIN) break;
            m_sent += std::max<ssize_t>(count, 0);
        }
        ::close(client);
    }

    QTcpServer m_server;
    std::atomic<bool> m_stops{false};
    std::atomic<std::int64_t> m_sent{0};
    std::thread m_thread;
};

/// Accepts a client and reads its messages, but acknowledges none.
class SilentBroker {
public:
    SilentBroker() {
        m_server.listen(QHostAddress::LocalHost);
        QObject::connect(&m_server, &QTcpServer::newConnection, &m_server, [this] {
            QTcpSocket* client = m_server.nextPendingConnection();
            QObject::connect(client, &QTcpSocket::readyRead, &m_server, [this, client] {
                if (m_received.isEmpty()) client->write(QByteArray::fromHex("20020000"));  // CONNACK
                m_received += client->readAll();
            });
        });
    }
    int port() const { return m_server.serverPort(); }
    const QByteArray& received() const { return m_received; }

private:
    QByteArray m_received;
    QTcpServer m_server;  // last member, so it is destroyed first and ends its connections
};

}  // namespace mpm::gui::test
