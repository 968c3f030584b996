#include "gui/services/metrics_endpoint.hpp"

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace mpm::gui {

namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;

const prometheus::Histogram::BucketBoundaries kSeconds = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5};

}  // namespace

class MetricsEndpoint::Families {
public:
    std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
    prometheus::Family<prometheus::Gauge>& tokensIn =
        gauge("mpm_tokens_in", "Image tokens of the last picture");
    prometheus::Family<prometheus::Gauge>& tokensKept =
        gauge("mpm_tokens_kept", "Tokens left after the last merge");
    prometheus::Family<prometheus::Gauge>& luminance = gauge("mpm_luminance", "Median luminance, 0 to 1");
    prometheus::Family<prometheus::Gauge>& night = gauge("mpm_night", "1 by night, 0 by day");
    prometheus::Family<prometheus::Gauge>& share = gauge("mpm_class_share", "Share of the picture, by class");
    prometheus::Family<prometheus::Gauge>& regionTokens =
        gauge("mpm_region_tokens", "Tokens kept, by region");
    prometheus::Family<prometheus::Gauge>& up = gauge("mpm_source_up", "1 while pictures of now arrive");
    prometheus::Family<prometheus::Gauge>& frames =
        gauge("mpm_frames_captured", "Frames since the source was opened");
    prometheus::Family<prometheus::Gauge>& dropped =
        gauge("mpm_frames_dropped", "Frames that capture dropped since the source was opened");
    prometheus::Family<prometheus::Counter>& analysed = BuildCounter()
                                                            .Name("mpm_frames_analysed_total")
                                                            .Help("Frames that went through the network")
                                                            .Register(*registry);
    prometheus::Family<prometheus::Counter>& alerts =
        BuildCounter().Name("mpm_alerts_total").Help("Alerts raised, by rule").Register(*registry);
    prometheus::Family<prometheus::Histogram>& network = prometheus::BuildHistogram()
                                                             .Name("mpm_network_seconds")
                                                             .Help("Time in the network, one frame")
                                                             .Register(*registry);

private:
    prometheus::Family<prometheus::Gauge>& gauge(const char* name, const char* help) {
        return BuildGauge().Name(name).Help(help).Register(*registry);
    }
};

class MetricsEndpoint::Server {
public:
    explicit Server(const std::string& address) : exposer(address, 2) {}
    prometheus::Exposer exposer;
};

MetricsEndpoint::MetricsEndpoint(const MetricsSettings& settings) : m_families(std::make_unique<Families>()) {
    const std::string address = settings.address.toStdString() + ":" + std::to_string(settings.port);
    try {
        m_server = std::make_unique<Server>(address);
    } catch (const std::exception&) {  // the library's own text names no address
        throw std::runtime_error(address + ": cannot be listened on; another program may hold the port");
    }
    m_server->exposer.RegisterCollectable(m_families->registry);
}

MetricsEndpoint::~MetricsEndpoint() = default;

int MetricsEndpoint::port() const {
    return m_server->exposer.GetListeningPorts().at(0);
}

void MetricsEndpoint::add(const QString& source, const pipeline::Measurement& m,
                          const std::vector<std::string>& labels) {
    const prometheus::Labels by{{"source", source.toStdString()}};
    m_families->tokensIn.Add(by).Set(m.tokensIn);
    m_families->tokensKept.Add(by).Set(m.tokensKept());
    m_families->luminance.Add(by).Set(m.luminance);
    m_families->night.Add(by).Set(m.phase == pipeline::Phase::Night ? 1 : 0);
    m_families->analysed.Add(by).Increment();
    m_families->network.Add(by, kSeconds).Observe(m.networkMs / 1000);
    for (std::size_t id = 0; id < m.classShares.size(); ++id) {
        prometheus::Labels label = by;
        label["class"] = id < labels.size() ? labels[id] : "class_" + std::to_string(id);
        m_families->share.Add(label).Set(m.classShares[id]);
    }
    for (const pipeline::RegionReading& region : m.regions) {
        prometheus::Labels label = by;
        label["region"] = region.name;
        m_families->regionTokens.Add(label).Set(region.tokens);
    }
}

void MetricsEndpoint::setState(const QString& source, const SourceReport& report) {
    const prometheus::Labels by{{"source", source.toStdString()}};
    m_families->up.Add(by).Set(report.current() ? 1 : 0);
    m_families->frames.Add(by).Set(double(report.status.frames));
    m_families->dropped.Add(by).Set(double(report.status.dropped));
}

void MetricsEndpoint::countAlert(const AlertNotice& notice) {
    m_families->alerts.Add({{"source", notice.source.toStdString()}, {"rule", notice.rule.toStdString()}})
        .Increment();
}

}  // namespace mpm::gui
