// The watch file: regions, masks, alerts, MQTT, metrics and further sources of a profile, in JSON, next to
// the profile's settings. The monitor uses the file with and without a window.
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
    QString user;  ///< the password of this user is in the keychain
    bool tls = false;
    QString prefix = QStringLiteral("mpm");
    QString discovery = QStringLiteral("homeassistant");  ///< prefix of Home Assistant's topics; empty: none

    bool operator==(const MqttSettings& other) const;
};

struct MetricsSettings {
    bool on = false;
    QString address = QStringLiteral("127.0.0.1");  ///< if not a loopback address, other machines can connect
    int port = 9464;

    bool operator==(const MetricsSettings& other) const;
};

/// Small images for the timeline.
struct ThumbnailSettings {
    bool on = true;
    int megabytes = 500, days = 30;  ///< beyond either limit, the oldest images are removed
};

/// The settings of a source. In WatchSettings::sources, the key is the source's address without passwords.
struct SourceWatch {
    std::vector<pipeline::Region> regions;
    std::vector<pipeline::Polygon> masks;
    QString name;              ///< such as "Front door"; empty: the address is shown
    QStringList objects = {};  ///< classes to follow; "*": all objects

    /// Returns `wanted`. If a region other than `own` has this name, adds a number, because measurements
    /// identify regions by name.
    std::string freeName(const std::string& wanted, const pipeline::Region* own = nullptr) const;
    bool empty() const { return name.isEmpty() && objects.isEmpty() && regions.empty() && masks.empty(); }
};

struct WatchSettings {
    std::map<QString, SourceWatch> sources;
    QStringList further;  ///< sources besides the source of the profile
    std::vector<pipeline::AlertRule> alerts;
    MqttSettings mqtt;
    MetricsSettings metrics;
    ThumbnailSettings thumbnails;
    bool keepsImages = true;  ///< false: images are discarded after they are measured
    QString videos;           ///< folder of recordings; empty: next to the measurements

    const SourceWatch& of(const QString& source) const;
    /// Returns the name of a source for the user: the name that the user chose, or the address.
    QString titleOf(const QString& source) const;
    /// Returns whether `source` may have this name. An empty name is free. Any other name is free if no other
    /// source in the settings or in `open` has this title (ignoring case), this address (as shown), or a
    /// title with the same topicWord().
    bool isNameFree(const QString& name, const QString& source, const QStringList& open = {}) const;
    /// Returns the classes to follow for a source: the user's choice and the classes in rules.
    std::vector<std::string> objectsOf(const QString& source) const;
};

/// Returns the letters and digits of `text` in lower case, with one '_' for each run of other characters
/// between them; "source" if there are none. If `text` is not ASCII, returns distinctWord().
QString topicWord(const QString& text);
/// Returns the letters and digits, and a hash of the whole text, so that different texts have different
/// words.
QString distinctWord(const QString& text);
/// Returns the topic word of a source's title without accents. If no ASCII letters or digits remain, returns
/// the topic word of the address.
QString topicWord(const QString& source, const QString& title);

/// Returns the defaults if there is no file. Throws WatchError if the file is not valid.
WatchSettings readWatchSettings(const QString& path);
/// Parses the content of a file. The message of WatchError does not name the file.
WatchSettings parseWatchSettings(const QByteArray& text);
/// Returns the content of a file. If this text is parsed and written again, the result is the same text.
QByteArray watchText(const WatchSettings& settings);
void writeWatchSettings(const QString& path, const WatchSettings& settings);

}  // namespace mpm::gui
