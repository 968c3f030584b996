// What a profile watches for and whom it tells: regions, masks, alerts, MQTT, metrics, further sources. A
// JSON file beside the profile's settings, the same for the window and for the program without one.
#pragma once

#include <map>

#include <QString>
#include <QStringList>

#include "gui/services/json_section.hpp"
#include "pipeline/watch/alert.hpp"

namespace mpm::gui {

struct MqttSettings {
    bool on = false;
    QString host = QStringLiteral("localhost");
    int port = 1883;
    QString user;  ///< its password lies in the keychain
    bool tls = false;
    QString prefix = QStringLiteral("mpm");
    QString discovery = QStringLiteral("homeassistant");  ///< Home Assistant's prefix; empty: not announced

    bool operator==(const MqttSettings& other) const;
};

struct MetricsSettings {
    bool on = false;
    QString address = QStringLiteral("127.0.0.1");  ///< other machines are let in by naming another one
    int port = 9464;

    bool operator==(const MetricsSettings& other) const;
};

/// Of one source, by its name without passwords.
struct SourceWatch {
    std::vector<pipeline::Region> regions;
    std::vector<pipeline::Polygon> masks;

    bool empty() const { return regions.empty() && masks.empty(); }
};

struct WatchSettings {
    std::map<QString, SourceWatch> sources;
    QStringList further;  ///< sources beside the profile's own
    std::vector<pipeline::AlertRule> alerts;
    MqttSettings mqtt;
    MetricsSettings metrics;
    bool keepsPictures = true;  ///< false: pictures are measured and forgotten
    QString videos;             ///< folder of recordings; empty: beside the measurements

    const SourceWatch& of(const QString& source) const;
};

/// A file that is not there holds the defaults. Throws WatchError where anything in it is not understood.
WatchSettings readWatchSettings(const QString& path);
/// Likewise of a file's content, without its path in the message.
WatchSettings parseWatchSettings(const QByteArray& text);
/// What a file holds. What is parsed from it has the same text again.
QByteArray watchText(const WatchSettings& settings);
void writeWatchSettings(const QString& path, const WatchSettings& settings);

}  // namespace mpm::gui
