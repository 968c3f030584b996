#include "gui/services/mqtt_publisher.hpp"

#include <mosquitto.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "base/printable.hpp"

namespace mpm::gui {

namespace {

constexpr int kKeepAlive = 30;
constexpr int kPoll = 200;        // milliseconds between two checks for a stop request
constexpr qint64 kEvery = 1'000;  // milliseconds between two measurements of a source

QByteArray compact(const QJsonObject& json) {
    return QJsonDocument(json).toJson(QJsonDocument::Compact);
}

/// Rounds to four decimals, enough for a share or a time in milliseconds.
double rounded(double value) {
    return std::round(value * 1e4) / 1e4;
}

QString classKey(std::size_t id, const std::vector<std::string>& labels) {
    return id < labels.size() ? QString::fromStdString(printable(labels[id]))
                              : QStringLiteral("class_%1").arg(id);
}

/// Adds `value` to the member `name` of `json`, because several classes may have the same name.
void add(QJsonObject& json, const QString& name, double value) {
    json[name] = rounded(json[name].toDouble() + value);
}

QJsonObject countsOf(const std::map<int, int>& counts, const std::vector<std::string>& labels) {
    QJsonObject json;
    for (const auto& [id, count] : counts)
        add(json, classKey(static_cast<std::size_t>(id), labels), count);
    return json;
}

/// Escapes a key that is written between '...' in a template.
QString quoted(QString key) {
    return key.replace(QLatin1Char('\\'), QStringLiteral("\\\\"))
        .replace(QLatin1Char('\''), QStringLiteral("\\'"));
}

QJsonObject stateOf(const pipeline::Measurement& m, const std::vector<std::string>& labels) {
    QJsonObject shares;
    for (std::size_t id = 0; id < m.classShares.size(); ++id)
        add(shares, classKey(id, labels), m.classShares[id]);
    QJsonObject regions;
    for (const pipeline::RegionReading& region : m.regions)
        regions[QString::fromStdString(region.name)] = region.tokens;
    QJsonObject json{{QStringLiteral("time"), QString::fromStdString(pipeline::timeText(m.time))},
                     {QStringLiteral("frame"), qint64(m.frame)},
                     {QStringLiteral("night"), m.phase == pipeline::Phase::Night},
                     {QStringLiteral("shares"), shares},
                     {QStringLiteral("regions"), regions}};
    if (m.objects) {
        QJsonObject inRegions;
        for (const pipeline::RegionReading& region : m.regions)
            inRegions[QString::fromStdString(region.name)] = countsOf(region.objects, labels);
        json[QStringLiteral("object_counts")] = countsOf(m.objectCounts, labels);
        json[QStringLiteral("region_objects")] = inRegions;
    }
    for (const pipeline::ReadingField& field : pipeline::readingFields()) {
        const double value = field.get(m).value_or(field.otherwise);
        if (field.mqtt)
            json[QLatin1String(field.name)] =
                std::isnan(value) ? QJsonValue(QJsonValue::Null) : rounded(value);
    }
    return json;
}

/// Returns Home Assistant's template for the field. A value that may be null is not rounded, so that
/// null becomes "None", which means "unknown".
QString templateOf(const pipeline::ReadingField& field) {
    const bool mayMiss = field.when != pipeline::ReadingField::When::Always && std::isnan(field.otherwise);
    QString text = QStringLiteral("value_json.") + QLatin1String(field.name);
    if (qstrcmp(field.sensor.unit, "%") == 0) text = QLatin1Char('(') + text + QStringLiteral(" * 100)");
    if (!field.whole && !mayMiss) text += QStringLiteral(" | round(1)");
    return QStringLiteral("{{ ") + text + QStringLiteral(" }}");
}

/// Makes the sensor unavailable while the monitor is offline. If `source`, the topic of the source's state,
/// is not empty, also makes the sensor unavailable while the source is down.
void addAvailability(QJsonObject& json, const QString& program, const QString& source) {
    QJsonArray all{QJsonObject{{QStringLiteral("topic"), program}}};
    if (!source.isEmpty())
        all.append(QJsonObject{{QStringLiteral("topic"), source},
                               {QStringLiteral("value_template"),
                                QStringLiteral("{{ 'online' if value_json.up else 'offline' }}")}});
    json[QStringLiteral("availability")] = all;
    json[QStringLiteral("availability_mode")] = QStringLiteral("all");
}

/// Initialises the library once per process. No publisher cleans up, because other publishers may need the
/// library.
void initLibrary() {
    static const int once = mosquitto_lib_init();
    Q_UNUSED(once)
}

}  // namespace

void MqttPublisher::Close::operator()(mosquitto* client) const {
    mosquitto_destroy(client);
}

MqttPublisher::MqttPublisher(const MqttSettings& settings, const QString& password, const QString& profile)
    : Worker("mqtt"), m_settings(settings), m_profile(topicWord(profile)) {
    initLibrary();
    m_client.reset(mosquitto_new(nullptr, true, this));
    mosquitto* client = m_client.get();
    mosquitto_threaded_set(client, true);
    if (!settings.user.isEmpty())
        mosquitto_username_pw_set(client, settings.user.toUtf8().constData(), password.toUtf8().constData());
    if (settings.tls) mosquitto_tls_set(client, nullptr, "/etc/ssl/certs", nullptr, nullptr, nullptr);
    mosquitto_connect_callback_set(client, [](mosquitto*, void* self, int result) {
        static_cast<MqttPublisher*>(self)->onConnect(result);
    });
    mosquitto_publish_callback_set(
        client, [](mosquitto*, void* self, int) { ++static_cast<MqttPublisher*>(self)->m_acknowledged; });
    // The broker publishes this message if the program ends without disconnecting.
    mosquitto_will_set(client, availability().toUtf8().constData(), 7, "offline", 1, true);
    start();
}

MqttPublisher::~MqttPublisher() {
    if (m_connected) send(availability(), "offline", true);
    mosquitto_disconnect(m_client.get());
    finish();
}

void MqttPublisher::work() {
    while (!stopping()) {
        connectAndLoop();
        const auto pause = std::chrono::seconds(std::min(60, 1 << std::min(m_failures++, 6)));
        std::unique_lock<std::mutex> lock(m_mutex);
        m_changed.wait_for(lock, pause, [this] { return stopping(); });
    }
}

/// Runs until the connection breaks or the publisher is stopped.
void MqttPublisher::connectAndLoop() {
    mosquitto* client = m_client.get();
    int result =
        mosquitto_connect_async(client, m_settings.host.toUtf8().constData(), m_settings.port, kKeepAlive);
    if (result != MOSQ_ERR_SUCCESS)
        return reportDisconnected(result == MOSQ_ERR_ERRNO ? QString::fromLocal8Bit(std::strerror(errno))
                                                           : QString::fromLatin1(mosquitto_strerror(result)));
    try {
        setLink(std::make_unique<BoundedLink>(mosquitto_socket(client)));
    } catch (const std::system_error& error) {
        return reportDisconnected(QString::fromLocal8Bit(error.what()));
    }
    while (result == MOSQ_ERR_SUCCESS && !stopping())
        result = mosquitto_loop(client, kPoll, 1);
    if (stopping()) mosquitto_loop(client, kPoll, 1);  // sends the queued messages
    const QString reason = QString::fromStdString(m_link->problem());
    setLink(nullptr);
    if (!stopping())
        reportDisconnected(reason.isEmpty() ? QString::fromLatin1(mosquitto_strerror(result)) : reason);
}

void MqttPublisher::setLink(std::unique_ptr<BoundedLink> link) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    std::swap(m_link, link);
}

/// Runs in the publisher's thread, like reportDisconnected().
void MqttPublisher::onConnect(int result) {
    if (result != 0) return reportDisconnected(QString::fromLatin1(mosquitto_connack_string(result)));
    m_failures = 0;
    m_told.clear();
    post([this] {
        m_connected = true;
        send(availability(), "online", true);
        for (const auto& [source, state] : m_lastStates) {
            announce(source);
            announceClasses(source, m_classes[source]);
            m_objects.erase(source);  // the next measurement announces the objects
            send(topicOf(source) + QStringLiteral("/source"), state, true);
        }
        emit connectedChanged(true, {});
    });
}

/// Reports only the first failure since the last connection, not every failed attempt.
void MqttPublisher::reportDisconnected(const QString& message) {
    if (!m_told.isEmpty()) return;
    m_told = message;
    post([this, message] {
        m_connected = false;
        emit connectedChanged(false, message);
    });
}

QString MqttPublisher::availability() const {
    return m_settings.prefix + QLatin1Char('/') + m_profile + QStringLiteral("/availability");
}

QString MqttPublisher::topicOf(const QString& source) const {
    return m_settings.prefix + QLatin1Char('/') + m_profile + QLatin1Char('/') +
           topicWord(source, titleOf(source));
}

QString MqttPublisher::titleOf(const QString& source) const {
    const auto found = m_titles.find(source);
    return found != m_titles.end() ? found->second : source;
}

void MqttPublisher::send(const QString& topic, const QByteArray& payload, bool retain) {
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        if (m_link) m_link->countMessage();
    }
    int number = 0;  // message id; 0 if the library did not queue the message
    mosquitto_publish(m_client.get(), &number, topic.toUtf8().constData(), int(payload.size()),
                      payload.constData(), 1, retain);
    if (number != 0) ++m_published;
}

void MqttPublisher::publish(const QString& source, const pipeline::Measurement& measurement,
                            const std::vector<std::string>& labels) {
    if (!m_connected) return;  // the measurement would be old when the connection is back
    // A detector measures no shares, so no sensors for shares are announced.
    const std::vector<std::string> segmented =
        measurement.classShares.empty() ? std::vector<std::string>() : labels;
    if (m_classes[source] != segmented) announceClasses(source, segmented);
    announceObjects(source, measurement, labels);
    Sent& sent = m_sent[source];
    const bool waits = m_acknowledged < sent.number;  // old measurements must not queue for a slow broker
    if (waits || (sent.since.isValid() && sent.since.elapsed() < kEvery)) return;
    sent.since.start();
    send(topicOf(source) + QStringLiteral("/state"), compact(stateOf(measurement, labels)), true);
    sent.number = m_published;
}

void MqttPublisher::publishState(const QString& source, const QString& title, bool up, const QString& state) {
    const QByteArray payload = compact(
        {{QStringLiteral("up"), up}, {QStringLiteral("state"), state}, {QStringLiteral("name"), title}});
    if (titleOf(source) != title) {
        // Removes the values under the source's former name from the broker.
        if (m_lastStates.erase(source) > 0)
            for (const char* part : {"/state", "/source"})
                send(topicOf(source) + QLatin1String(part), {}, true);
        m_classes.erase(source);
        m_objects.erase(source);
        m_titles[source] = title;
    }
    const bool fresh = m_lastStates.find(source) == m_lastStates.end();
    if (!fresh && m_lastStates[source] == payload) return;
    m_lastStates[source] = payload;
    if (!m_connected) return;
    if (fresh) announce(source);
    send(topicOf(source) + QStringLiteral("/source"), payload, true);
}

void MqttPublisher::close(const QString& source) {
    if (m_lastStates.find(source) == m_lastStates.end()) return;
    publishState(source, titleOf(source), false, QStringLiteral("closed"));
    send(topicOf(source) + QStringLiteral("/state"), {}, true);  // the broker forgets the measurement
    m_lastStates.erase(source);
    m_classes.erase(source);
    m_objects.erase(source);
}

void MqttPublisher::publishAlert(const AlertNotice& notice) {
    send(topicOf(notice.key) + QStringLiteral("/alert"),
         compact({{QStringLiteral("time"), notice.time.toUTC().toString(Qt::ISODateWithMs)},
                  {QStringLiteral("source"), notice.source},
                  {QStringLiteral("rule"), notice.rule},
                  {QStringLiteral("value"), notice.value},
                  {QStringLiteral("text"), notice.text}}),
         false);
}

void MqttPublisher::announceSensor(const QString& source, const char* kind, const char* id,
                                   const QString& name, const QString& value, const char* unit) {
    const QString device = QStringLiteral("mpm_%1_%2").arg(m_profile, topicWord(source));
    const QString unique = device + QLatin1Char('_') + QLatin1String(id);
    const QString title = titleOf(source);
    const QString shown = title == source ? QStringLiteral("MPM ") + source : title;
    const bool binary = qstrcmp(kind, "binary_sensor") == 0;
    const QString part = qstrcmp(id, "source") == 0  ? QStringLiteral("/source")
                         : qstrcmp(id, "alert") == 0 ? QStringLiteral("/alert")
                                                     : QStringLiteral("/state");
    const QString entity =
        QStringLiteral("mpm_%1_%2_%3").arg(m_profile, topicWord(source, title), QLatin1String(id));
    QJsonObject json{
        {QStringLiteral("name"), name},
        {QStringLiteral("unique_id"), unique},
        {QStringLiteral("object_id"), entity},  // for Home Assistant before 2026.4
        {QStringLiteral("default_entity_id"), QLatin1String(kind) + QLatin1Char('.') + entity},
        {QStringLiteral("state_topic"), topicOf(source) + part},
        {QStringLiteral("value_template"), value},
        {QStringLiteral("device"), QJsonObject{{QStringLiteral("identifiers"), QJsonArray{device}},
                                               {QStringLiteral("name"), shown},
                                               {QStringLiteral("manufacturer"), QStringLiteral("MPM")},
                                               {QStringLiteral("model"), QStringLiteral("mpm-monitor")}}}};
    addAvailability(
        json, availability(),
        part == QStringLiteral("/state") ? topicOf(source) + QStringLiteral("/source") : QString());
    if (unit != nullptr) json[QStringLiteral("unit_of_measurement")] = QLatin1String(unit);
    if (!binary && part == QStringLiteral("/state"))
        json[QStringLiteral("state_class")] = QStringLiteral("measurement");
    if (qstrcmp(id, "source") == 0) json[QStringLiteral("device_class")] = QStringLiteral("connectivity");
    if (binary && qstrncmp(id, "objects_", 8) == 0)
        json[QStringLiteral("device_class")] = QStringLiteral("occupancy");
    send(configTopic(source, kind, id), compact(json), true);
}

/// Announces a sensor for the share of each class, and removes the sensors of an earlier model.
void MqttPublisher::announceClasses(const QString& source, std::vector<std::string> labels) {
    const std::vector<std::string> before = std::exchange(m_classes[source], labels);
    if (m_settings.discovery.isEmpty()) return;
    for (std::size_t id = labels.size(); id < before.size(); ++id)
        send(configTopic(source, "sensor", "class_" + std::to_string(id)), {}, true);
    for (std::size_t id = 0; id < labels.size(); ++id) {
        const QString key = classKey(id, labels);
        announceSensor(source, "sensor", ("class_" + std::to_string(id)).c_str(), tr("Share of %1").arg(key),
                       QStringLiteral("{{ (value_json.shares['%1'] * 100) | round(2) }}").arg(quoted(key)),
                       "%");
    }
}

/// For the image and for each region, announces two sensors for each followed class: the number of objects,
/// and whether there is any object. Removes sensors that no longer apply.
void MqttPublisher::announceObjects(const QString& source, const pipeline::Measurement& m,
                                    const std::vector<std::string>& labels) {
    std::map<QString, std::pair<QString, QString>> wanted;  // by id: name, and path of the count
    for (const auto& [id, count] : m.objectCounts) {
        const QString key = classKey(static_cast<std::size_t>(id), labels);
        const QString word = QStringLiteral("objects_%1").arg(id);
        wanted[word] = {key, QStringLiteral("value_json.object_counts['%1']").arg(quoted(key))};
        for (const pipeline::RegionReading& region : m.regions) {
            const QString name = QString::fromStdString(region.name);
            QString at = word + QLatin1Char('_') + topicWord(name);
            if (wanted.count(at) != 0) at = word + QLatin1Char('_') + distinctWord(name);
            wanted[at] = {
                tr("%1 in %2").arg(key, name),
                QStringLiteral("value_json.region_objects['%1']['%2']").arg(quoted(name), quoted(key))};
        }
    }
    auto& known = m_objects[source];
    if (known == wanted) return;
    const auto before = std::exchange(known, wanted);
    if (m_settings.discovery.isEmpty()) return;
    for (const auto& [id, sensor] : before)
        for (const char* kind : {"sensor", "binary_sensor"})
            if (wanted.count(id) == 0) send(configTopic(source, kind, id.toStdString()), {}, true);
    for (const auto& [id, sensor] : wanted) {
        const auto& [name, value] = sensor;
        announceSensor(source, "sensor", qPrintable(id), tr("Number of %1").arg(name),
                       QStringLiteral("{{ %1 | default(0) }}").arg(value), nullptr);
        announceSensor(source, "binary_sensor", qPrintable(id), name,
                       QStringLiteral("{{ 'ON' if %1 | default(0) > 0 else 'OFF' }}").arg(value), nullptr);
    }
}

QString MqttPublisher::configTopic(const QString& source, const char* kind, const std::string& id) const {
    return QStringLiteral("%1/%2/mpm_%3_%4/%5/config")
        .arg(m_settings.discovery, QLatin1String(kind), m_profile, topicWord(source),
             QString::fromStdString(id));
}

void MqttPublisher::announce(const QString& source) {
    if (m_settings.discovery.isEmpty()) return;
    for (const pipeline::ReadingField& field : pipeline::readingFields())
        if (field.sensor.id != nullptr)
            announceSensor(source, "sensor", field.sensor.id,
                           QCoreApplication::translate("mpm::gui::ReadingField", field.sensor.title),
                           templateOf(field), field.sensor.unit);
    announceSensor(source, "sensor", "alert", tr("Last alert"), QStringLiteral("{{ value_json.text }}"),
                   nullptr);
    announceSensor(source, "binary_sensor", "night", tr("Night"),
                   QStringLiteral("{{ 'ON' if value_json.night else 'OFF' }}"), nullptr);
    announceSensor(source, "binary_sensor", "source", tr("Source"),
                   QStringLiteral("{{ 'ON' if value_json.up else 'OFF' }}"), nullptr);
}

}  // namespace mpm::gui
