// A page for Prometheus to read, on loopback unless somebody says otherwise.
#pragma once

#include <memory>

#include "gui/services/alert_center.hpp"
#include "gui/services/watch_settings.hpp"

namespace mpm::gui {

class MetricsEndpoint {
public:
    /// Throws std::runtime_error where the port is taken.
    explicit MetricsEndpoint(const MetricsSettings& settings);
    ~MetricsEndpoint();

    /// Where it listens; the port asked for, or the one found where 0 was.
    int port() const;
    void add(const QString& source, const pipeline::Measurement& measurement,
             const std::vector<std::string>& labels);
    void setState(const QString& source, const SourceReport& report);
    void countAlert(const AlertNotice& notice);

private:
    class Families;
    std::unique_ptr<Families> m_families;  // first: what the server reads
    class Server;
    std::unique_ptr<Server> m_server;
};

}  // namespace mpm::gui
