// Alerts, publishing and videos of every attached engine, with a window or without.
#pragma once

#include <map>
#include <memory>

#include "gui/services/alert_center.hpp"
#include "gui/services/metrics_endpoint.hpp"
#include "gui/services/mqtt_publisher.hpp"
#include "gui/services/secrets.hpp"
#include "gui/services/thumbnails.hpp"
#include "gui/services/video_recorder.hpp"

namespace mpm::gui {

class Services : public QObject {
    Q_OBJECT
public:
    /// `videos`: folder of recordings if the settings name none. Small images are kept next to it.
    Services(const QString& profile, const QString& videos);

    /// Applies the settings at once; parts without a change continue undisturbed.
    void apply(const WatchSettings& settings);
    const WatchSettings& settings() const { return m_settings; }
    /// Another program keeps the small images.
    void setReadOnly() { m_readOnly = true; }
    /// Serves the engine until it is destroyed or detached.
    void attach(Engine& engine);
    void detach(Engine& engine);
    /// A source was opened in an attached engine: its own regions and masks apply from now on.
    void sourceOpened(Engine& engine);
    /// The request with the regions and privacy settings of the engine's source.
    Request requestFor(const Engine& engine, Request request) const;

    /// Records one engine for the user. False: images are not kept, so there is no video.
    bool startRecording(Engine& engine);
    void stopRecording(Engine& engine);
    bool recording(const Engine& engine) const;

    /// The name of the broker's password in the keychain.
    static QString mqttKey(const MqttSettings& settings);
    /// Connects again, with the present password.
    void reconnect() { applyMqtt(m_settings.mqtt); }

    const Thumbnails& thumbnails() const { return m_thumbnails; }
    /// The image of an event: the object that it is about, or the frame. Empty: none is kept.
    QString imageOf(const QString& source, qint64 time) const;
    /// The folder that the settings name, or else the program's.
    QString videosFolder() const { return m_settings.videos.isEmpty() ? m_videos : m_settings.videos; }
    Secrets& secrets() { return m_secrets; }
    const MetricsEndpoint* metrics() const { return m_metrics.get(); }
    const MqttPublisher* mqtt() const { return m_mqtt.get(); }
    /// The state of the connection to the broker, in words; empty: MQTT is off.
    const QString& mqttStatus() const { return m_mqttStatus; }

signals:
    void alerted(const mpm::gui::AlertNotice& notice);
    /// A message for the user; `trouble`: it stays visible until the next message.
    void messagePosted(const QString& text, bool trouble);
    void recordingChanged();
    void mqttStatusChanged(const QString& status, bool connected);

private:
    struct Attached {
        std::unique_ptr<AlertCenter> alerts;
        std::unique_ptr<VideoRecorder> video;
        std::vector<QMetaObject::Connection> connections;
        QString source;  ///< the name of the source opened last
    };
    void sourceClosed(const QString& source);
    void applyMqtt(const MqttSettings& settings);
    void startMqtt(const QString& password);
    void setMqttStatus(const QString& status, bool connected = false);
    void applyMetrics(const MetricsSettings& settings);
    void startMetrics(const MetricsSettings& settings, const QList<QHostAddress>& addresses);
    void onMeasured(const Engine& engine, const pipeline::Measurement& measurement,
                    const AnalysisPtr& analysis);
    void onState(const Engine& engine, const SourceReport& report);
    void onAlert(Engine& engine, const AlertNotice& notice);
    QString videoFile(const QString& source) const;
    void connectVideo(VideoRecorder& video);

    const QString m_profile, m_videos;
    bool m_readOnly = false;
    WatchSettings m_settings;
    QString m_mqttStatus;
    Secrets m_secrets;
    Thumbnails m_thumbnails, m_cutOuts;
    std::unique_ptr<MqttPublisher> m_mqtt;
    std::unique_ptr<MetricsEndpoint> m_metrics;
    std::map<const Engine*, Attached> m_attached;
};

}  // namespace mpm::gui
