// Regions, masks, alerts, MQTT, metrics and further sources of a profile: a JSON file next to its settings,
// the same with a window and without.
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
    QString user;  ///< its password is in the keychain
    bool tls = false;
    QString prefix = QStringLiteral("mpm");
    QString discovery = QStringLiteral("homeassistant");  ///< Home Assistant's prefix; empty: not announced

    bool operator==(const MqttSettings& other) const;
};

struct MetricsSettings {
    bool on = false;
    QString address = QStringLiteral("127.0.0.1");  ///< any other address lets other machines connect
    int port = 9464;

    bool operator==(const MetricsSettings& other) const;
};

/// Small images for the timeline.
struct ThumbnailSettings {
    bool on = true;
    int megabytes = 500, days = 30;  ///< beyond either limit, the oldest images go
};

/// The settings of a source. Their key is its address without passwords.
struct SourceWatch {
    std::vector<pipeline::Region> regions;
    std::vector<pipeline::Polygon> masks;
    QString name;              ///< "Front door"; empty: the address is shown
    QStringList objects = {};  ///< classes that are followed; "*": all objects

    /// Returns `wanted`, with a number if another region than `own` has this name: measurements know regions
    /// by their names.
    std::string freeName(const std::string& wanted, const pipeline::Region* own = nullptr) const;
    bool empty() const { return name.isEmpty() && objects.isEmpty() && regions.empty() && masks.empty(); }
};

struct WatchSettings {
    std::map<QString, SourceWatch> sources;
    QStringList further;  ///< sources in addition to the profile's own
    std::vector<pipeline::AlertRule> alerts;
    MqttSettings mqtt;
    MetricsSettings metrics;
    ThumbnailSettings thumbnails;
    bool keepsImages = true;  ///< false: images are measured and discarded
    QString videos;           ///< folder of recordings; empty: next to the measurements

    const SourceWatch& of(const QString& source) const;
    /// The name of a source for the user: a name given by the user, or the address.
    QString titleOf(const QString& source) const;
    /// Whether no other source has this name or topic. `open`: sources that may have no name.
    bool isNameFree(const QString& name, const QString& source, const QStringList& open = {}) const;
    /// Classes that are followed at a source, and classes that a rule is about.
    std::vector<std::string> objectsOf(const QString& source) const;
};

/// Letters and digits of `text`, in lower case, with one '_' for each run of other characters. A text that is
/// not all ASCII gets its distinctWord().
QString topicWord(const QString& text);
/// The word with a hash of the whole text: two different texts have different words.
QString distinctWord(const QString& text);
/// The word of a source with a name: of the name without accents, or of the address if nothing of the name
/// remains.
QString topicWord(const QString& source, const QString& title);

/// The defaults if there is no file. Throws WatchError if the file is not valid.
WatchSettings readWatchSettings(const QString& path);
/// Reads the content of a file. The message of WatchError does not name the file.
WatchSettings parseWatchSettings(const QByteArray& text);
/// The content of a file. Parsing and writing it again gives the same text.
QByteArray watchText(const WatchSettings& settings);
void writeWatchSettings(const QString& path, const WatchSettings& settings);

}  // namespace mpm::gui
