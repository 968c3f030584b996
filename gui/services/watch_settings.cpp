#include "gui/services/watch_settings.hpp"

#include <algorithm>
#include <cmath>

#include <QCryptographicHash>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "base/private_files.hpp"
#include "gui/text/safe_text.hpp"

namespace mpm::gui {

namespace {

constexpr qint64 kLargest = 16 << 20;
const char* const kQuantities[] = {"tokens",  "class_share",  "luminance",  "source_down",
                                   "objects", "object_stays", "object_left"};

QString key(const char* text) {
    return QLatin1String(text);
}

QJsonArray polygonJson(const pipeline::Polygon& polygon) {
    QJsonArray corners;
    for (const cv::Point2d& corner : polygon)
        corners.append(QJsonArray{corner.x, corner.y});
    return corners;
}

pipeline::Polygon polygonFrom(const QJsonValue& json, const std::string& what) {
    pipeline::Polygon polygon;
    const auto inside = [](const QJsonValue& at) {
        return at.isDouble() && at.toDouble() >= 0 && at.toDouble() <= 1;
    };
    for (const QJsonValue& corner : json.toArray()) {
        const QJsonArray pair = corner.toArray();
        if (pair.size() != 2 || !inside(pair[0]) || !inside(pair[1]))
            throw WatchError(what +
                             ": expected corners as [x, y], parts of the image's width and height, 0 to 1");
        polygon.emplace_back(pair[0].toDouble(), pair[1].toDouble());
    }
    // With fewer than three corners, a mask would have no area and hide nothing.
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
    QJsonObject json{{key("regions"), regions},
                     {key("masks"), masks},
                     {key("objects"), QJsonArray::fromStringList(watch.objects)}};
    if (!watch.name.isEmpty()) json[key("name")] = watch.name;
    return json;
}

SourceWatch sourceFrom(const QJsonValue& json, const std::string& name) {
    SourceWatch watch;
    JsonSection source(json, name);
    source.read("name", watch.name);
    watch.name = QString::fromStdString(safeName(watch.name.toStdString())).trimmed();
    for (const QJsonValue& value : source.list("regions")) {
        JsonSection region(value, source.nameOf("regions"));
        watch.regions.emplace_back();
        pipeline::Region& added = watch.regions.back();
        region.read("name", added.name);
        added.name = watch.freeName(added.name, &added);
        watch.regions.back().outline = polygonFrom(region.any("outline"), region.nameOf("outline"));
        region.finish();
    }
    for (const QJsonValue& value : source.list("masks"))
        watch.masks.push_back(polygonFrom(value, source.nameOf("masks")));
    for (const QJsonValue& value : source.list("objects")) {
        if (!value.isString()) source.refuse("objects", "a list of strings");
        watch.objects << QString::fromStdString(safeName(value.toString().toStdString()));
    }
    source.finish();
    return watch;
}

QJsonObject alertJson(const pipeline::AlertRule& rule) {
    return {{key("name"), QString::fromStdString(rule.name)},
            {key("of"), key(kQuantities[static_cast<int>(rule.of)])},
            {key("region"), QString::fromStdString(rule.region)},
            {key("source"), QString::fromStdString(rule.source)},
            {key("from_hour"), rule.fromHour},
            {key("to_hour"), rule.toHour},
            {key("label"), QString::fromStdString(rule.label)},
            {key("above"), rule.above},
            {key("threshold"), rule.threshold},
            {key("hold_s"), double(rule.hold.count()) / 1000},
            {key("cool_down_s"), double(rule.coolDown.count()) / 1000},
            {key("desktop"), rule.desktop},
            {key("record"), rule.record},
            {key("command"), QString::fromStdString(rule.command)}};
}

pipeline::AlertRule alertFrom(const QJsonValue& value) {
    pipeline::AlertRule rule;
    JsonSection json(value, "alerts");
    json.read("name", rule.name);
    std::string of;
    json.read("of", of);
    const auto found = std::find(std::begin(kQuantities), std::end(kQuantities), of);
    if (found == std::end(kQuantities))
        json.refuse("of",
                    "tokens, class_share, luminance, source_down, objects, object_stays or object_left");
    rule.of = static_cast<pipeline::AlertRule::Of>(found - std::begin(kQuantities));
    json.read("region", rule.region);
    json.read("source", rule.source);
    json.read("from_hour", rule.fromHour);
    json.read("to_hour", rule.toHour);
    json.read("label", rule.label);
    json.read("above", rule.above);
    json.read("threshold", rule.threshold);
    const auto seconds = [&json](const char* name, std::chrono::milliseconds& time) {
        double read = double(time.count()) / 1000;
        json.read(name, read);
        time = std::chrono::milliseconds(std::llround(std::clamp(read, -1.0, 1e7) * 1000));
    };
    seconds("hold_s", rule.hold);
    seconds("cool_down_s", rule.coolDown);
    json.read("desktop", rule.desktop);
    json.read("record", rule.record);
    json.read("command", rule.command);
    for (std::string* name : {&rule.name, &rule.region, &rule.label, &rule.source})
        *name = safeName(*name);  // made safe, because the texts are shown, stored and sent unchanged
    json.finish();
    return rule;
}

std::vector<pipeline::AlertRule> alertsFrom(const QJsonArray& json) {
    std::vector<pipeline::AlertRule> rules;
    for (const QJsonValue& value : json)
        rules.push_back(alertFrom(value));
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

void readPort(JsonSection& json, int& port) {
    json.read("port", port);
    if (port < 0 || port > 65535) json.refuse("port", "0 to 65535");
}

MqttSettings mqttFrom(const QJsonValue& value) {
    MqttSettings mqtt;
    JsonSection json(value, "mqtt");
    readPort(json, mqtt.port);
    json.read("on", mqtt.on);
    json.read("tls", mqtt.tls);
    json.read("host", mqtt.host);
    json.read("user", mqtt.user);
    json.read("prefix", mqtt.prefix);
    json.read("discovery", mqtt.discovery);
    json.finish();
    return mqtt;
}

MetricsSettings metricsFrom(const QJsonValue& value) {
    MetricsSettings metrics;
    JsonSection json(value, "metrics");
    json.read("on", metrics.on);
    json.read("address", metrics.address);
    readPort(json, metrics.port);
    json.finish();
    return metrics;
}

ThumbnailSettings thumbnailsFrom(const QJsonValue& value) {
    ThumbnailSettings thumbnails;
    JsonSection json(value, "thumbnails");
    json.read("on", thumbnails.on);
    json.read("megabytes", thumbnails.megabytes);
    json.read("days", thumbnails.days);
    if (thumbnails.megabytes < 1 || thumbnails.megabytes > 1'000'000)
        json.refuse("megabytes", "1 to 1000000");
    if (thumbnails.days < 1 || thumbnails.days > 10'000) json.refuse("days", "1 to 10000");
    json.finish();
    return thumbnails;
}

/// Throws if two sources have the same name. In rules, replaces a source's name with the address, so that the
/// source can be renamed.
void checkNames(WatchSettings& settings) {
    for (const auto& [source, watch] : settings.sources) {
        if (!settings.isNameFree(watch.name, source))
            throw WatchError("sources: two have the name '" + watch.name.toStdString() +
                             "' or its topic; each needs a name of its own");
        for (pipeline::AlertRule& rule : settings.alerts)
            if (!watch.name.isEmpty() && rule.source == watch.name.toStdString())
                rule.source = safeName(source.toStdString());
    }
}

WatchSettings settingsFrom(const QJsonObject& object) {
    WatchSettings settings;
    JsonSection json(object, "");
    const QJsonObject sources = json.object("sources");
    for (auto at = sources.begin(); at != sources.end(); ++at)
        settings.sources[at.key()] = sourceFrom(at.value(), at.key().toStdString());
    for (const QJsonValue& further : json.list("further_sources")) {
        if (!further.isString()) json.refuse("further_sources", "a list of strings");
        settings.further << further.toString();
    }
    settings.alerts = alertsFrom(json.list("alerts"));
    checkNames(settings);
    settings.mqtt = mqttFrom(json.any("mqtt"));
    settings.metrics = metricsFrom(json.any("metrics"));
    settings.thumbnails = thumbnailsFrom(json.any("thumbnails"));
    json.read("keeps_pictures", settings.keepsImages);
    json.read("videos", settings.videos);
    json.finish();
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

QString WatchSettings::titleOf(const QString& source) const {
    const QString& name = of(source).name;
    return name.isEmpty() ? source : name;
}

std::string SourceWatch::freeName(const std::string& wanted, const pipeline::Region* own) const {
    const std::string name = wanted.empty() ? "region" : safeName(wanted);  // in rules, "" is the whole image
    std::string free = name;
    const auto taken = [&](const pipeline::Region& one) { return &one != own && one.name == free; };
    for (int number = 2; std::any_of(regions.begin(), regions.end(), taken); ++number)
        free = printable(name, kLongestName - 16) + " " + std::to_string(number);
    return free;
}

bool WatchSettings::isNameFree(const QString& name, const QString& source, const QStringList& open) const {
    const QString word = topicWord(source, name);
    const auto taken = [&](const QString& other) {
        const QString title = titleOf(other), address = QString::fromStdString(safeName(other.toStdString()));
        return other != source && (title.compare(name, Qt::CaseInsensitive) == 0 || address == name ||
                                   topicWord(other, title) == word);
    };
    return name.isEmpty() ||
           !(std::any_of(open.begin(), open.end(), taken) ||
             std::any_of(sources.begin(), sources.end(), [&](const auto& at) { return taken(at.first); }));
}

namespace {

/// Returns the words of `text`, ASCII letters and digits in lower case, joined by '_'. May return "".
QString plainWord(const QString& text) {
    QString word;
    for (const QChar c : text) {
        const bool plain = c.unicode() < 128 && c.isLetterOrNumber();
        if (plain)
            word += c.toLower();
        else if (!word.endsWith(QLatin1Char('_')) && !word.isEmpty())
            word += QLatin1Char('_');
    }
    while (word.endsWith(QLatin1Char('_')))
        word.chop(1);
    return word;
}

}  // namespace

QString topicWord(const QString& text) {
    if (std::any_of(text.begin(), text.end(), [](QChar c) { return c.unicode() >= 128; }))
        return distinctWord(text);
    const QString word = plainWord(text);
    return word.isEmpty() ? QStringLiteral("source") : word;
}

QString distinctWord(const QString& text) {
    const QString word = plainWord(text), link = word.isEmpty() ? QString() : QStringLiteral("_");
    const QByteArray hash = QCryptographicHash::hash(text.toUtf8(), QCryptographicHash::Sha256);
    return word + link + QString::fromLatin1(hash.toHex().left(8));
}

QString topicWord(const QString& source, const QString& title) {
    QString plain = title.normalized(QString::NormalizationForm_KD);  // separates accents from letters
    plain.removeIf([](QChar c) { return c.unicode() >= 128; });
    const bool any = std::any_of(plain.begin(), plain.end(), [](QChar c) { return c.isLetterOrNumber(); });
    return title == source || !any ? topicWord(source) : topicWord(plain);
}

std::vector<std::string> WatchSettings::objectsOf(const QString& source) const {
    std::vector<std::string> classes;
    for (const QString& name : of(source).objects)
        classes.push_back(name.toStdString());
    for (const pipeline::AlertRule& rule : alerts) {
        const bool here = rule.source.empty() || rule.source == safeName(source.toStdString());
        if (here && pipeline::isOfObjects(rule.of)) classes.push_back(rule.label.empty() ? "*" : rule.label);
    }
    return classes;
}

WatchSettings parseWatchSettings(const QByteArray& text) {
    QJsonParseError problem;
    const QJsonDocument document = QJsonDocument::fromJson(text, &problem);
    if (problem.error == QJsonParseError::NoError && !document.isObject())
        throw WatchError("expected an object, {...}");
    if (!document.isObject())
        throw WatchError("not JSON, at byte " + std::to_string(problem.offset) + ": " +
                         problem.errorString().toStdString());
    return settingsFrom(document.object());
}

WatchSettings readWatchSettings(const QString& path) {
    QFile file(path);
    if (!file.exists()) return {};
    tightenOwn(path.toStdString());
    if (!QFileInfo(path).isFile()) throw WatchError(path.toStdString() + ": not a file");
    if (file.size() > kLargest)
        throw WatchError(path.toStdString() + ": larger than 16 MiB; a watch file is smaller");
    if (!file.open(QIODevice::ReadOnly))
        throw WatchError(path.toStdString() + ": cannot be read: " + file.errorString().toStdString());
    try {
        return parseWatchSettings(file.readAll());
    } catch (const WatchError& error) {
        throw WatchError(printable(path.toStdString() + ": " + error.what(), 1000));
    }
}

QByteArray watchText(const WatchSettings& settings) {
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
                           {key("thumbnails"), QJsonObject{{key("on"), settings.thumbnails.on},
                                                           {key("megabytes"), settings.thumbnails.megabytes},
                                                           {key("days"), settings.thumbnails.days}}},
                           {key("keeps_pictures"), settings.keepsImages},
                           {key("videos"), settings.videos}};
    return QJsonDocument(json).toJson();
}

void writeWatchSettings(const QString& path, const WatchSettings& settings) {
    try {
        makePrivateFolders(QFileInfo(path).absolutePath().toStdString());
        writeAtomically(path.toStdString(), watchText(settings).toStdString());
        tightenOwn(path.toStdString());  // an earlier version may have let other users read the file
    } catch (const cv::Exception& error) {
        throw WatchError(printable(error.err, 1000));
    }
}

}  // namespace mpm::gui
