// Publishes measurements to an MQTT broker, and describes them to Home Assistant.
#pragma once

#include <atomic>
#include <map>
#include <memory>

#include <QElapsedTimer>

#include "gui/engine/worker.hpp"
#include "gui/services/alert_center.hpp"
#include "gui/services/bounded_link.hpp"
#include "gui/services/watch_settings.hpp"

struct mosquitto;

namespace mpm::gui {

/// A thread that connects and reconnects until it is stopped; every call returns immediately. The library's
/// own thread is not used, because it sleeps for a whole keep-alive interval after a failed first attempt.
class MqttPublisher : public Worker {
    Q_OBJECT
public:
    /// `profile`: a part of the topics that distinguishes two monitors on the same broker.
    MqttPublisher(const MqttSettings& settings, const QString& password, const QString& profile);
    ~MqttPublisher() override;

    bool connected() const { return m_connected; }
    /// For each source, sends at most one measurement a second, and only if the broker has received the
    /// previous measurement; drops other measurements. `labels`: names of the classes.
    void publish(const QString& source, const pipeline::Measurement& measurement,
                 const std::vector<std::string>& labels);
    /// `title`: the name of the source for the user. If the title changes, the topics change too, and Home
    /// Assistant receives the new topics.
    void publishState(const QString& source, const QString& title, bool up, const QString& state);
    /// Sends "closed" as the last state of the source, and removes the source's measurement from the broker.
    void close(const QString& source);
    void publishAlert(const AlertNotice& notice);

    /// Returns PREFIX/PROFILE/SOURCE; PROFILE and SOURCE contain only letters, digits and '_'.
    QString topicOf(const QString& source) const;

signals:
    void connectedChanged(bool connected, const QString& message);

protected:
    void work() override;

private:
    QString titleOf(const QString& source) const;
    void announce(const QString& source);
    void announceClasses(const QString& source, std::vector<std::string> labels);
    void announceObjects(const QString& source, const pipeline::Measurement& measurement,
                         const std::vector<std::string>& labels);
    QString configTopic(const QString& source, const char* kind, const std::string& id) const;
    void announceSensor(const QString& source, const char* kind, const char* id, const QString& name,
                        const QString& value, const char* unit);
    void send(const QString& topic, const QByteArray& payload, bool retain);
    QString availability() const;
    void onConnect(int result);
    void reportDisconnected(const QString& message);
    void connectAndLoop();
    void setLink(std::unique_ptr<BoundedLink> link);

    struct Close {
        void operator()(mosquitto* client) const;
    };
    const MqttSettings m_settings;
    const QString m_profile;
    std::unique_ptr<mosquitto, Close> m_client;
    std::atomic<bool> m_connected{false};
    std::unique_ptr<BoundedLink> m_link;  // guarded by m_mutex
    int m_failures = 0;                   // used only by the thread
    QString m_told;
    std::int64_t m_published = 0;  // number of sent messages; the broker acknowledges messages in order
    std::atomic<std::int64_t> m_acknowledged{0};
    struct Sent {
        QElapsedTimer since;
        std::int64_t number = 0;  // value of m_published after the message
    };
    std::map<QString, Sent> m_sent;                         // by source: the newest measurement sent
    std::map<QString, QByteArray> m_lastStates;             // by source; sent again after a reconnection
    std::map<QString, std::vector<std::string>> m_classes;  // by source; announced again after a reconnection
    std::map<QString, QString> m_titles;                    // by source
    std::map<QString, std::map<QString, std::pair<QString, QString>>>
        m_objects;  // the sensors announced, by source and id
};

}  // namespace mpm::gui
