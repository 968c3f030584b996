// What goes on beside the pictures, with a window or without one: alerts, publishing, videos, for every
// engine that is attached.
#pragma once

#include <map>
#include <memory>

#include "gui/services/alert_center.hpp"
#include "gui/services/metrics_endpoint.hpp"
#include "gui/services/mqtt_publisher.hpp"
#include "gui/services/secrets.hpp"
#include "gui/services/video_recorder.hpp"

namespace mpm::gui {

class Services : public QObject {
    Q_OBJECT
public:
    /// `videos`: folder of recordings where the settings name none.
    Services(const QString& profile, const QString& videos, QObject* parent = nullptr);
    ~Services() override;

    /// Takes effect at once; what did not change goes on undisturbed.
    void apply(const WatchSettings& settings);
    const WatchSettings& settings() const { return m_settings; }
    /// Until the engine is destroyed, or detached.
    void attach(Engine& engine);
    void detach(Engine& engine);
    /// A source was opened in an attached engine: its own regions and masks count from now on.
    void sourceOpened(Engine& engine);
    /// The request as the engine must get it, with what the settings say of its source.
    Request requestFor(const Engine& engine, Request request) const;

    /// By hand, of one engine; false: pictures are not kept, so there is no video.
    bool startRecording(Engine& engine);
    void stopRecording(Engine& engine);
    bool recording(const Engine& engine) const;

    /// Under which the broker's password lies in the keychain.
    static QString mqttKey(const MqttSettings& settings);
    /// With the password as it is now.
    void reconnect() { applyMqtt(m_settings.mqtt); }

    Secrets& secrets() { return m_secrets; }
    const MetricsEndpoint* metrics() const { return m_metrics.get(); }
    const MqttPublisher* mqtt() const { return m_mqtt.get(); }

signals:
    void alerted(const mpm::gui::AlertNotice& notice);
    /// For the reader; trouble stays until something else is said.
    void said(const QString& text, bool trouble);
    void recordingChanged();

private:
    struct Attached {
        std::unique_ptr<AlertCenter> alerts;
        std::unique_ptr<VideoRecorder> video;
        std::vector<QMetaObject::Connection> connections;
        bool byHand = false;
    };
    void adopt(const Engine& engine);
    void applyMqtt(const MqttSettings& settings);
    void startMqtt(const QString& password);
    void applyMetrics(const MetricsSettings& settings);
    void startMetrics(const MetricsSettings& settings, const QList<QHostAddress>& addresses);
    void onMeasured(const Engine& engine, const pipeline::Measurement& measurement,
                    const AnalysisPtr& analysis);
    void onState(const Engine& engine, const SourceReport& report);
    void onAlert(Engine& engine, const AlertNotice& notice);
    QString videoFile(const QString& source) const;
    void connectVideo(VideoRecorder& video);

    const QString m_profile, m_videos;
    WatchSettings m_settings;
    Secrets m_secrets;
    std::unique_ptr<MqttPublisher> m_mqtt;
    std::unique_ptr<MetricsEndpoint> m_metrics;
    std::map<const Engine*, Attached> m_attached;
};

}  // namespace mpm::gui
