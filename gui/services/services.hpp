// Raises alerts, publishes measurements and records videos for every attached engine.
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
    /// `videos`: folder of recordings, used if the settings contain no folder. Thumbnails are stored next to
    /// this folder.
    Services(const QString& profile, const QString& videos);

    /// Applies the settings immediately. Parts whose settings did not change continue undisturbed.
    void apply(const WatchSettings& settings);
    const WatchSettings& settings() const { return m_settings; }
    /// Stops storing thumbnails, because another program that uses the profile stores them.
    void setReadOnly() { m_readOnly = true; }
    /// Serves the engine until the engine is destroyed or detached.
    void attach(Engine& engine);
    void detach(Engine& engine);
    /// Must be called after a source was opened in an attached engine, to apply the source's regions and
    /// masks.
    void sourceOpened(Engine& engine);
    /// Returns the request with the regions and objects of the engine's source, and the privacy setting.
    Request requestFor(const Engine& engine, Request request) const;

    /// Starts a recording for the user. Returns false if the settings forbid keeping images.
    bool startRecording(Engine& engine);
    void stopRecording(Engine& engine);
    bool recording(const Engine& engine) const;

    /// Returns the key of the broker's password in the keychain.
    static QString mqttKey(const MqttSettings& settings);
    /// Connects to the broker again, with the password that is now in the keychain.
    void reconnect() { applyMqtt(m_settings.mqtt); }

    const Thumbnails& thumbnails() const { return m_thumbnails; }
    /// Returns the file with the image of an event's object, else the file with the image of the frame; empty
    /// if neither is stored, or if the settings forbid images.
    QString imageOf(const QString& source, qint64 time) const;
    /// Returns the folder of recordings in the settings or, if there is none, the default folder.
    QString videosFolder() const { return m_settings.videos.isEmpty() ? m_videos : m_settings.videos; }
    Secrets& secrets() { return m_secrets; }
    const MetricsEndpoint* metrics() const { return m_metrics.get(); }
    const MqttPublisher* mqtt() const { return m_mqtt.get(); }
    /// Returns the state of the connection to the broker as text; empty if MQTT is off.
    const QString& mqttStatus() const { return m_mqttStatus; }

signals:
    void alerted(const mpm::gui::AlertNotice& notice);
    /// `text`: for the user. `trouble`: if true, the text remains visible until the next message.
    void messagePosted(const QString& text, bool trouble);
    void recordingChanged();
    void mqttStatusChanged(const QString& status, bool connected);

private:
    struct Attached {
        std::unique_ptr<AlertCenter> alerts;
        std::unique_ptr<VideoRecorder> video;
        std::vector<QMetaObject::Connection> connections;
        QString source;  ///< the name of the source opened most recently
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
