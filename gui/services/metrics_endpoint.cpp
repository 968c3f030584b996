#include "gui/services/metrics_endpoint.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <cmath>
#include <map>
#include <utility>

#include <QHostAddress>
#include <QHostInfo>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTimer>

#include "base/printable.hpp"

namespace mpm::gui {

namespace {

using Gauges = prometheus::Family<prometheus::Gauge>;
using Counters = prometheus::Family<prometheus::Counter>;

const prometheus::Histogram::BucketBoundaries kSeconds = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5};

/// Returns whether the address can be that of a single machine: false for wildcards (0.0.0.0, ::) and
/// multicast.
bool isOneMachine(const QHostAddress& address) {
    bool hasV4 = false;
    const bool any = address.toIPv4Address(&hasV4) == 0 && hasV4;  // true for ::ffff:0.0.0.0 too
    return !any && !address.isNull() && !address.isMulticast() &&
           address != QHostAddress(QHostAddress::Any) && address != QHostAddress(QHostAddress::AnyIPv4) &&
           address != QHostAddress(QHostAddress::AnyIPv6);
}

QList<QHostAddress> usable(const QList<QHostAddress>& all) {
    QList<QHostAddress> found;
    for (const QHostAddress& address : all)
        if (isOneMachine(address)) found << address;
    return found;
}

prometheus::Labels labelsOf(const QString& source) {
    return {{"source", printable(source.toStdString())}};
}

std::string nameOf(std::size_t id, const std::vector<std::string>& labels) {
    return id < labels.size() ? printable(labels[id]) : "class_" + std::to_string(id);
}

}  // namespace

class MetricsEndpoint::Families {
public:
    std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
    /// The fields of a reading that have a name for Prometheus, each with the field's gauge.
    std::vector<std::pair<const pipeline::ReadingField*, Gauges*>> fields = fieldGauges();
    Gauges& night = gauge("mpm_night", "1 by night, 0 by day");
    Gauges& share = gauge("mpm_class_share", "Share of the image, by class");
    Gauges& regionTokens = gauge("mpm_region_tokens", "Tokens kept, by region");
    Gauges& objects = gauge("mpm_class_objects", "Objects present, by class that is followed");
    Gauges& regionObjects = gauge("mpm_region_objects", "Objects that stand in a region, by class");
    Gauges& up = gauge("mpm_source_up", "1 while current images arrive");
    Gauges& frames = gauge("mpm_frames_captured", "Frames since the source was opened");
    Gauges& dropped = gauge("mpm_frames_dropped", "Frames that capture dropped since the source was opened");
    Counters& analysed = counter("mpm_frames_analysed_total", "Frames that went through the network");
    Counters& alerts = counter("mpm_alerts_total", "Alerts raised, by rule");
    prometheus::Family<prometheus::Histogram>& network = prometheus::BuildHistogram()
                                                             .Name("mpm_network_seconds")
                                                             .Help("Time in the network, one frame")
                                                             .Register(*registry);

    using Values = std::map<std::pair<Gauges*, prometheus::Labels>, double>;
    /// Replaces a source's values for classes and regions. A value that is not in `values` disappears.
    void setValues(const std::string& source, const Values& values) {
        for (const auto& [gauge, value] : std::exchange(m_values[source], values))
            if (values.count(gauge) == 0) gauge.first->Remove(&gauge.first->Add(gauge.second));
        for (const auto& [gauge, value] : values)
            gauge.first->Add(gauge.second).Set(value);
    }

    /// Sets a value on the page, or removes the value if it is not known (NaN).
    static void set(Gauges& family, const prometheus::Labels& by, double value) {
        prometheus::Gauge& gauge = family.Add(by);
        if (std::isnan(value))
            family.Remove(&gauge);
        else
            gauge.Set(value);
    }

private:
    std::map<std::string, Values> m_values;

    Gauges& gauge(const char* name, const char* help) {
        return prometheus::BuildGauge().Name(name).Help(help).Register(*registry);
    }
    Counters& counter(const char* name, const char* help) {
        return prometheus::BuildCounter().Name(name).Help(help).Register(*registry);
    }

    decltype(fields) fieldGauges() {
        decltype(fields) found;
        for (const pipeline::ReadingField& field : pipeline::readingFields())
            if (const auto& [name, help, scale] = field.prometheus; name != nullptr)
                found.emplace_back(&field, &gauge(name, help));
        return found;
    }
};

/// A server that answers one request for each connection. prometheus-cpp's own server uses threads whose
/// stacks are too small for the thread-local data of this process.
class MetricsEndpoint::Server : public QTcpServer {
public:
    explicit Server(const prometheus::Registry& registry) : m_registry(registry) {
        QObject::connect(this, &QTcpServer::newConnection, this, [this] {
            while (QTcpSocket* socket = nextPendingConnection())
                serve(socket);
        });
    }

private:
    void serve(QTcpSocket* socket) {
        QObject::connect(socket, &QTcpSocket::disconnected, socket, &QObject::deleteLater);
        QObject::connect(socket, &QTcpSocket::readyRead, this, [this, socket] {
            const QByteArray seen = socket->peek(kLongestRequest);
            if (!seen.contains("\r\n\r\n") && seen.size() < kLongestRequest) return;
            socket->readAll();
            socket->write(answer(seen));
            socket->disconnectFromHost();
        });
        QTimer::singleShot(kPatience, socket, [socket] { socket->abort(); });
    }

    QByteArray answer(const QByteArray& request) const {
        const QList<QByteArray> words = request.left(request.indexOf('\r')).split(' ');
        const bool known =
            words.size() == 3 && words[0] == "GET" && words[1].split('?').first() == "/metrics";
        const std::string page = known ? prometheus::TextSerializer().Serialize(m_registry.Collect())
                                       : std::string("see /metrics\n");
        return QByteArray(known ? "HTTP/1.1 200 OK" : "HTTP/1.1 404 Not Found") +
               "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nConnection: "
               "close\r\nContent-Length: " +
               QByteArray::number(qsizetype(page.size())) + "\r\n\r\n" + QByteArray::fromStdString(page);
    }

    static constexpr int kLongestRequest = 8192;
    static constexpr std::chrono::milliseconds kPatience{5'000};
    const prometheus::Registry& m_registry;
};

void findListenAddresses(const QString& name, QObject* context,
                         std::function<void(const QList<QHostAddress>& found)> then) {
    if (name == QLatin1String("0.0.0.0")) return then({QHostAddress(QHostAddress::AnyIPv4)});
    if (name == QLatin1String("::")) return then({QHostAddress(QHostAddress::AnyIPv6)});
    if (name.compare(QLatin1String("localhost"), Qt::CaseInsensitive) == 0)
        return then({QHostAddress(QHostAddress::LocalHost), QHostAddress(QHostAddress::LocalHostIPv6)});
    if (name.trimmed().isEmpty()) return then({});
    // An empty name, rejected above, would give a null address, which means "every address of this machine".
    QHostAddress literal;
    if (literal.setAddress(name)) return then(usable({literal}));
    QHostInfo::lookupHost(
        name, context, [then = std::move(then)](const QHostInfo& info) { then(usable(info.addresses())); });
}

MetricsEndpoint::MetricsEndpoint(const MetricsSettings& settings, const QList<QHostAddress>& addresses)
    : m_families(std::make_unique<Families>()), m_server(std::make_unique<Server>(*m_families->registry)) {
    const std::string asked = QStringLiteral("%1:%2").arg(settings.address).arg(settings.port).toStdString();
    if (addresses.isEmpty())
        throw std::runtime_error(asked +
                                 ": no address of one machine; name an IP address of this one, or localhost");
    for (const QHostAddress& address : addresses)
        if (m_server->listen(address, quint16(settings.port))) return;
    throw std::runtime_error(asked + ": cannot be listened on: " + m_server->errorString().toStdString());
}

MetricsEndpoint::~MetricsEndpoint() = default;

int MetricsEndpoint::port() const {
    return m_server->serverPort();
}

QHostAddress MetricsEndpoint::address() const {
    return m_server->serverAddress();
}

void MetricsEndpoint::add(const QString& source, const pipeline::Measurement& m,
                          const std::vector<std::string>& labels) {
    const prometheus::Labels by = labelsOf(source);
    for (const auto& [field, family] : m_families->fields)
        Families::set(*family, by, field->get(m).value_or(field->otherwise) * field->prometheus.scale);
    m_families->night.Add(by).Set(m.phase == pipeline::Phase::Night ? 1 : 0);
    m_families->analysed.Add(by).Increment();
    m_families->network.Add(by, kSeconds).Observe(m.networkMs / 1000);
    Families::Values values;
    for (std::size_t id = 0; id < m.classShares.size(); ++id) {
        prometheus::Labels label = by;
        label["class"] = nameOf(id, labels);
        values[{&m_families->share, label}] += m.classShares[id];  // classes may share a name
    }
    const auto add = [&](auto& family, const std::map<int, int>& objects, prometheus::Labels label) {
        for (const auto& [id, count] : objects) {
            label["class"] = nameOf(static_cast<std::size_t>(id), labels);
            values[{&family, label}] += count;
        }
    };
    add(m_families->objects, m.objectCounts, by);
    for (const pipeline::RegionReading& region : m.regions) {
        prometheus::Labels label = by;
        label["region"] = printable(region.name);
        values[{&m_families->regionTokens, label}] = region.tokens;
        add(m_families->regionObjects, region.objects, label);
    }
    m_families->setValues(by.at("source"), values);
}

void MetricsEndpoint::setState(const QString& source, const SourceReport& report) {
    const prometheus::Labels by = labelsOf(source);
    m_families->up.Add(by).Set(report.current() ? 1 : 0);
    m_families->frames.Add(by).Set(double(report.status.frames));
    m_families->dropped.Add(by).Set(double(report.status.dropped));
}

void MetricsEndpoint::countAlert(const AlertNotice& notice) {
    prometheus::Labels by = labelsOf(notice.source);
    by["rule"] = printable(notice.rule.toStdString());
    m_families->alerts.Add(by).Increment();
}

}  // namespace mpm::gui
