// A real MQTT broker and a real client beside it, both of Debian's mosquitto.
#pragma once

#include <QElapsedTimer>
#include <QFile>
#include <QProcess>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTest>

#include "gui/patience.hpp"

namespace mpm::gui::test {

/// A port that is free now.
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
        // Run by root, the broker would change to a user who may not read here.
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

/// mosquitto_sub: prints every message as "TOPIC PAYLOAD".
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
    /// The last payload on a topic; waits for the first.
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

}  // namespace mpm::gui::test
