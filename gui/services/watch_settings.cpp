#include "gui/services/watch_settings.hpp"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>

namespace mpm::gui {

namespace {

const char* const kQuantities[] = {"tokens", "class_share", "luminance", "source_down"};

QString key(const char* text) {
    return QLatin1String(text);
}

std::string text(const QJsonValue& value) {
    return value.toString().toStdString();
}

/// What is absent, or of another kind, stays as it was.
void read(const QJsonObject& json, const char* name, bool& value) {
    value = json[key(name)].toBool(value);
}

void read(const QJsonObject& json, const char* name, QString& value) {
    value = json[key(name)].toString(value);
}

void read(const QJsonObject& json, const char* name, double& value) {
    value = json[key(name)].toDouble(value);
}

QJsonArray polygonJson(const pipeline::Polygon& polygon) {
    QJsonArray corners;
    for (const cv::Point2d& corner : polygon)
        corners.append(QJsonArray{corner.x, corner.y});
    return corners;
}

pipeline::Polygon polygonFrom(const QJsonValue& json, const std::string& what) {
    pipeline::Polygon polygon;
    for (const QJsonValue& corner : json.toArray()) {
        const QJsonArray pair = corner.toArray();
        if (pair.size() != 2 || !pair[0].isDouble() || !pair[1].isDouble())
            throw WatchError(what + ": expected corners as [x, y], 0 to 1");
        polygon.emplace_back(pair[0].toDouble(), pair[1].toDouble());
    }
    // A mask that covers nothing would show what it was made to hide.
    if (polygon.size() < 3) throw WatchError(what + ": expected at least three corners");
    return polygon;
}

QJsonObject sourceJson(const SourceWatch& watch) {
    QJsonArray regions, masks;
    for (const pipeline::Region& region : watch.regions)
        regions.append(QJsonObject{{key("name"), QString::fromStdString(region.name)},
                                   {key("outline"), polygonJson(region.outline)}});
    for (const pipeline::Polygon& mask : watch.masks)
        masks.append(polygonJson(mask));
    return {{key("regions"), regions}, {key("masks"), masks}};
}

SourceWatch sourceFrom(const QJsonObject& json, const std::string& name) {
    SourceWatch watch;
    for (const QJsonValue& value : json[key("regions")].toArray()) {
        const QJsonObject region = value.toObject();
        watch.regions.push_back(
            {text(region[key("name")]), polygonFrom(region[key("outline")], name + ": region")});
    }
    for (const QJsonValue& value : json[key("masks")].toArray())
        watch.masks.push_back(polygonFrom(value, name + ": mask"));
    return watch;
}

QJsonObject alertJson(const pipeline::AlertRule& rule) {
    return {{key("name"), QString::fromStdString(rule.name)},
            {key("of"), key(kQuantities[static_cast<int>(rule.of)])},
            {key("region"), QString::fromStdString(rule.region)},
            {key("label"), QString::fromStdString(rule.label)},
            {key("above"), rule.above},
            {key("threshold"), rule.threshold},
            {key("hold_s"), double(rule.hold.count()) / 1000},
            {key("cool_down_s"), double(rule.coolDown.count()) / 1000},
            {key("desktop"), rule.desktop},
            {key("record"), rule.record},
            {key("command"), QString::fromStdString(rule.command)}};
}

pipeline::AlertRule alertFrom(const QJsonObject& json) {
    pipeline::AlertRule rule;
    rule.name = text(json[key("name")]);
    const std::string of = text(json[key("of")]);
    const auto found = std::find(std::begin(kQuantities), std::end(kQuantities), of);
    if (found == std::end(kQuantities))
        throw WatchError("alert '" + rule.name +
                         "': of: expected tokens, class_share, luminance or source_down");
    rule.of = static_cast<pipeline::AlertRule::Of>(found - std::begin(kQuantities));
    rule.region = text(json[key("region")]);
    rule.label = text(json[key("label")]);
    read(json, "above", rule.above);
    read(json, "threshold", rule.threshold);
    const auto seconds = [&json](const char* name, std::chrono::milliseconds otherwise) {
        const double value = json[key(name)].toDouble(double(otherwise.count()) / 1000);
        return std::chrono::milliseconds(static_cast<std::int64_t>(std::clamp(value, -1.0, 1e7) * 1000));
    };
    rule.hold = seconds("hold_s", rule.hold);
    rule.coolDown = seconds("cool_down_s", rule.coolDown);
    read(json, "desktop", rule.desktop);
    read(json, "record", rule.record);
    rule.command = text(json[key("command")]);
    return rule;
}

std::vector<pipeline::AlertRule> alertsFrom(const QJsonArray& json) {
    std::vector<pipeline::AlertRule> rules;
    for (const QJsonValue& value : json)
        rules.push_back(alertFrom(value.toObject()));
    try {
        pipeline::AlertWatch().setRules(rules);
    } catch (const cv::Exception& error) {
        throw WatchError(error.err);
    }
    return rules;
}

QJsonObject mqttJson(const MqttSettings& mqtt) {
    return {{key("on"), mqtt.on},
            {key("host"), mqtt.host},
            {key("port"), mqtt.port},
            {key("user"), mqtt.user},
            {key("tls"), mqtt.tls},
            {key("prefix"), mqtt.prefix},
            {key("discovery"), mqtt.discovery}};
}

int portFrom(const QJsonObject& json, int otherwise) {
    const int port = json[key("port")].toInt(otherwise);
    if (port < 0 || port > 65535) throw WatchError("port: expected 0 to 65535");
    return port;
}

MqttSettings mqttFrom(const QJsonObject& json) {
    MqttSettings mqtt;
    mqtt.port = portFrom(json, mqtt.port);
    read(json, "on", mqtt.on);
    read(json, "tls", mqtt.tls);
    read(json, "host", mqtt.host);
    read(json, "user", mqtt.user);
    read(json, "prefix", mqtt.prefix);
    read(json, "discovery", mqtt.discovery);
    return mqtt;
}

MetricsSettings metricsFrom(const QJsonObject& json) {
    MetricsSettings metrics;
    read(json, "on", metrics.on);
    read(json, "address", metrics.address);
    metrics.port = portFrom(json, metrics.port);
    return metrics;
}

WatchSettings settingsFrom(const QJsonObject& json) {
    WatchSettings settings;
    const QJsonObject sources = json[key("sources")].toObject();
    for (auto at = sources.begin(); at != sources.end(); ++at)
        settings.sources[at.key()] = sourceFrom(at.value().toObject(), at.key().toStdString());
    for (const QJsonValue& further : json[key("further_sources")].toArray())
        settings.further << further.toString();
    settings.alerts = alertsFrom(json[key("alerts")].toArray());
    settings.mqtt = mqttFrom(json[key("mqtt")].toObject());
    settings.metrics = metricsFrom(json[key("metrics")].toObject());
    settings.keepsPictures = json[key("keeps_pictures")].toBool(true);
    settings.videos = json[key("videos")].toString();
    return settings;
}

}  // namespace

bool MqttSettings::operator==(const MqttSettings& other) const {
    return mqttJson(*this) == mqttJson(other);
}

bool MetricsSettings::operator==(const MetricsSettings& other) const {
    return on == other.on && address == other.address && port == other.port;
}

const SourceWatch& WatchSettings::of(const QString& source) const {
    static const SourceWatch nothing;
    const auto found = sources.find(source);
    return found != sources.end() ? found->second : nothing;
}

WatchSettings readWatchSettings(const QString& path) {
    QFile file(path);
    if (!file.exists()) return {};
    if (!file.open(QIODevice::ReadOnly))
        throw WatchError(path.toStdString() + ": cannot be read: " + file.errorString().toStdString());
    QJsonParseError problem;
    const QJsonDocument document = QJsonDocument::fromJson(file.readAll(), &problem);
    if (!document.isObject())
        throw WatchError(path.toStdString() + ": not JSON, at byte " + std::to_string(problem.offset) + ": " +
                         problem.errorString().toStdString());
    try {
        return settingsFrom(document.object());
    } catch (const WatchError& error) {
        throw WatchError(path.toStdString() + ": " + error.what());
    }
}

void writeWatchSettings(const QString& path, const WatchSettings& settings) {
    QJsonObject sources;
    for (const auto& [name, watch] : settings.sources)
        if (!watch.empty()) sources[name] = sourceJson(watch);
    QJsonArray alerts;
    for (const pipeline::AlertRule& rule : settings.alerts)
        alerts.append(alertJson(rule));
    const QJsonObject json{{key("sources"), sources},
                           {key("further_sources"), QJsonArray::fromStringList(settings.further)},
                           {key("alerts"), alerts},
                           {key("mqtt"), mqttJson(settings.mqtt)},
                           {key("metrics"), QJsonObject{{key("on"), settings.metrics.on},
                                                        {key("address"), settings.metrics.address},
                                                        {key("port"), settings.metrics.port}}},
                           {key("keeps_pictures"), settings.keepsPictures},
                           {key("videos"), settings.videos}};
    QDir().mkpath(QFileInfo(path).absolutePath());
    QSaveFile file(path);  // the old one stays whole where the disk is full
    if (!file.open(QIODevice::WriteOnly) || file.write(QJsonDocument(json).toJson()) < 0 || !file.commit())
        throw WatchError(path.toStdString() + ": cannot be written: " + file.errorString().toStdString());
}

}  // namespace mpm::gui
