#include "gui/services/services.hpp"

#include <QDateTime>
#include <QFileInfo>
#include <QHostAddress>

#include "gui/text/numbers.hpp"
#include "gui/text/safe_text.hpp"

namespace mpm::gui {

namespace {

QString captionOf(const RenderedFrame& drawn) {
    const Analysis& analysis = *drawn.analysis;
    const auto time =
        std::chrono::duration_cast<pipeline::Millis>(analysis.frame.time.time_since_epoch()).count();
    return QStringLiteral("%1  %2 of %3 tokens  %4 ms")
        .arg(QDateTime::fromMSecsSinceEpoch(time).toString(Qt::ISODate))
        .arg(analysis.tokensKept())
        .arg(analysis.tokensIn())
        .arg(analysis.networkMs(), 0, 'f', 0);
}

}  // namespace

Services::Services(const QString& profile, const QString& videos)
    : m_profile(profile),
      m_videos(videos),
      m_secrets(profile),
      m_thumbnails(QFileInfo(videos).absolutePath() + QLatin1Char('/') + profile +
                   QStringLiteral("-thumbnails")),
      m_cutOuts(QFileInfo(videos).absolutePath() + QLatin1Char('/') + profile + QStringLiteral("-objects")) {}

void Services::apply(const WatchSettings& settings) {
    const WatchSettings before = std::exchange(m_settings, settings);
    bool renamed = false;
    for (auto& [engine, attached] : m_attached) {
        attached.alerts->setRules(settings.alerts);
        if (!settings.keepsImages) attached.video->forget();
        const QString title = engine->title();
        sourceOpened(*const_cast<Engine*>(engine));
        renamed |= engine->title() != title;
    }
    if (!settings.keepsImages) emit recordingChanged();
    m_thumbnails.setSettings(settings.thumbnails);
    m_cutOuts.setSettings(settings.thumbnails);
    if (!(before.mqtt == settings.mqtt)) applyMqtt(settings.mqtt);
    // If the name of a source changed, makes a new page of metrics, so that no series of the former name
    // remains.
    if (renamed || !(before.metrics == settings.metrics)) applyMetrics(settings.metrics);
}

QString Services::mqttKey(const MqttSettings& settings) {
    return QStringLiteral("mqtt://%1@%2:%3").arg(settings.user, settings.host).arg(settings.port);
}

void Services::applyMqtt(const MqttSettings& settings) {
    m_mqtt.reset();
    setMqttStatus(settings.on ? tr("Connecting to %1:%2…").arg(settings.host).arg(settings.port) : QString());
    if (!settings.on) return;
    if (settings.user.isEmpty()) return startMqtt({});
    const QString key = mqttKey(settings);
    m_secrets.find(
        key, [this, key, settings](const std::optional<QString>& password, const QString& problem) {
            if (!(m_settings.mqtt == settings)) return;  // the settings changed before the keychain answered
            if (password) return startMqtt(*password);
            const QString words = tr("MQTT: the password of %1 is not in the keychain: %2").arg(key, problem);
            setMqttStatus(words);
            emit messagePosted(words, true);
        });
}

void Services::startMqtt(const QString& password) {
    m_mqtt = std::make_unique<MqttPublisher>(m_settings.mqtt, password, m_profile);
    connect(m_mqtt.get(), &Worker::crashed, this, [this](const QString& message) {
        emit messagePosted(tr("MQTT stopped: %1").arg(message), true);
    });
    const QString broker = m_settings.mqtt.host + QLatin1Char(':') + QString::number(m_settings.mqtt.port);
    connect(m_mqtt.get(), &MqttPublisher::connectedChanged, this,
            [this, broker](bool connected, const QString& message) {
                const QString words = connected ? tr("MQTT: connected to %1").arg(broker)
                                                : tr("MQTT: not connected to %1: %2").arg(broker, message);
                setMqttStatus(words, connected);
                emit messagePosted(words, !connected);
            });
    for (const auto& [engine, attached] : m_attached)
        if (!engine->sourceName().isEmpty()) onState(*engine, engine->report());
}

void Services::setMqttStatus(const QString& status, bool connected) {
    m_mqttStatus = status;
    emit mqttStatusChanged(status, connected);
}

void Services::applyMetrics(const MetricsSettings& settings) {
    m_metrics.reset();
    if (!settings.on) return;
    findListenAddresses(settings.address, this, [this, settings](const QList<QHostAddress>& found) {
        if (m_settings.metrics == settings) startMetrics(settings, found);
    });
}

void Services::startMetrics(const MetricsSettings& settings, const QList<QHostAddress>& addresses) {
    m_metrics.reset();
    try {
        m_metrics = std::make_unique<MetricsEndpoint>(settings, addresses);
    } catch (const std::exception& error) {
        emit messagePosted(tr("Metrics: %1").arg(safeText(error.what(), 1000)), true);
    }
}

void Services::attach(Engine& engine) {
    Attached attached;
    attached.alerts = std::make_unique<AlertCenter>(engine);
    attached.alerts->setRules(m_settings.alerts);
    attached.video = std::make_unique<VideoRecorder>();
    connectVideo(*attached.video);
    attached.video->start();
    attached.connections = {
        connect(&engine, &Engine::measured, this,
                [this, &engine](const auto& measurement, const AnalysisPtr& analysis) {
                    onMeasured(engine, measurement, analysis);
                }),
        connect(&engine, &Engine::sourceReported, this,
                [this, &engine](const SourceReport& report) { onState(engine, report); }),
        connect(&engine, &Engine::rendered, this,
                [this, &engine](const RenderedFrame& drawn) {
                    if (m_settings.keepsImages)
                        m_attached[&engine].video->add(drawn.overlay, captionOf(drawn));
                }),
        connect(&engine, &Engine::happened, this,
                [this, &engine] { m_thumbnails.noteEvent(engine.sourceName()); }),
        connect(&engine, &QObject::destroyed, this, [this, &engine] { m_attached.erase(&engine); }),
        connect(attached.alerts.get(), &AlertCenter::raised, this,
                [this, &engine](const AlertNotice& notice) { onAlert(engine, notice); }),
        connect(attached.alerts.get(), &AlertCenter::failed, this,
                [this](const QString& message) { emit messagePosted(message, true); })};
    m_attached[&engine] = std::move(attached);
}

void Services::detach(Engine& engine) {
    const auto found = m_attached.find(&engine);
    if (found == m_attached.end()) return;
    for (const QMetaObject::Connection& connection : found->second.connections)
        disconnect(connection);
    const Attached gone = std::move(found->second);
    m_attached.erase(found);
    gone.video->close();
    sourceClosed(gone.source);
}

/// Sends the broker the state "closed", and drops the source's values from the page of metrics.
void Services::sourceClosed(const QString& source) {
    if (source.isEmpty()) return;
    if (m_mqtt) m_mqtt->close(source);
    applyMetrics(m_settings.metrics);
}

void Services::connectVideo(VideoRecorder& video) {
    connect(&video, &Worker::crashed, this, [this](const QString& message) {
        emit messagePosted(tr("Videos stopped: %1").arg(message), true);
    });
    connect(&video, &VideoRecorder::started, this, &Services::recordingChanged);
    connect(&video, &VideoRecorder::finished, this, [this](const QString& file, int frames) {
        emit messagePosted(tr("%1 s of video written to %2")
                               .arg(readable(double(frames) / VideoRecorder::kRate, 1))
                               .arg(file),
                           false);
        emit recordingChanged();
    });
    connect(&video, &VideoRecorder::failed, this, [this](const QString& file, const QString& message) {
        emit messagePosted(tr("%1: %2").arg(file, message), true);
        emit recordingChanged();
    });
}

void Services::sourceOpened(Engine& engine) {
    if (const auto attached = m_attached.find(&engine); attached != m_attached.end()) {
        const QString before = std::exchange(attached->second.source, engine.sourceName());
        if (before != engine.sourceName()) sourceClosed(before);
    }
    engine.setTitle(m_settings.of(engine.sourceName()).name);
    engine.setMasks(m_settings.of(engine.sourceName()).masks);
    engine.setRequest(requestFor(engine, engine.request()));
}

Request Services::requestFor(const Engine& engine, Request request) const {
    request.regions = m_settings.of(engine.sourceName()).regions;
    request.objects = m_settings.objectsOf(engine.sourceName());
    request.keepsImages = m_settings.keepsImages;
    return request;
}

void Services::onMeasured(const Engine& engine, const pipeline::Measurement& measurement,
                          const AnalysisPtr& analysis) {
    if (analysis->repeat) return;
    if (m_settings.keepsImages && !m_readOnly)
        m_thumbnails.add(engine.sourceName(), analysis->frame.image, measurement.time.count());
    if (m_mqtt) m_mqtt->publish(engine.sourceName(), measurement, analysis->model->labels);
    if (m_metrics) m_metrics->add(engine.title(), measurement, analysis->model->labels);
}

void Services::onState(const Engine& engine, const SourceReport& report) {
    const QString state = QString::fromLatin1(pipeline::stateName(report.status.state));
    if (m_mqtt) m_mqtt->publishState(engine.sourceName(), engine.title(), report.current(), state);
    if (m_metrics) m_metrics->setState(engine.title(), report);
}

void Services::onAlert(Engine& engine, const AlertNotice& notice) {
    if (m_mqtt) m_mqtt->publishAlert(notice);
    if (m_metrics) m_metrics->countAlert(notice);
    if (!notice.cutOut.isNull() && m_settings.keepsImages && !m_readOnly) {
        m_cutOuts.noteEvent(notice.key);
        m_cutOuts.add(notice.key, notice.cutOut, notice.time.toMSecsSinceEpoch());
    }
    if (notice.record && m_settings.keepsImages)
        m_attached[&engine].video->recordAround(videoFile(notice.key));
    emit alerted(notice);
}

QString Services::imageOf(const QString& source, qint64 time) const {
    constexpr qint64 kReach = 1'500;  // milliseconds; version 0.1.0 stored events this late after an alert
    if (!m_settings.keepsImages) return {};
    const QString object = m_cutOuts.nearest(source, time, kReach);
    return object.isEmpty() ? m_thumbnails.nearest(source, time, Thumbnails::kEvery) : object;
}

QString Services::videoFile(const QString& source) const {
    const QString time = QDateTime::currentDateTime().toString(QStringLiteral("yyyyMMdd-HHmmss"));
    return videosFolder() + QLatin1Char('/') + topicWord(source) + QLatin1Char('-') + time +
           QStringLiteral(".mp4");
}

bool Services::startRecording(Engine& engine) {
    const auto found = m_attached.find(&engine);
    if (!m_settings.keepsImages || found == m_attached.end()) return false;
    found->second.video->startRecording(videoFile(engine.sourceName()));
    return true;
}

void Services::stopRecording(Engine& engine) {
    const auto found = m_attached.find(&engine);
    if (found == m_attached.end()) return;
    found->second.video->stopRecording();
}

bool Services::recording(const Engine& engine) const {
    const auto found = m_attached.find(&engine);
    return found != m_attached.end() && found->second.video->recordsByHand();
}

}  // namespace mpm::gui
