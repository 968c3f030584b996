// Metrics for Prometheus, on loopback unless the settings name another address.
#pragma once

#include <functional>
#include <memory>

#include <QList>

#include "gui/services/alert_center.hpp"
#include "gui/services/watch_settings.hpp"

class QHostAddress;

namespace mpm::gui {

/// Finds the addresses that `name` stands for: an IP address, "localhost", or a host that the system knows.
/// Calls `then` with them, at once or later in the thread of `context`; without any if the name is unknown.
/// Only 0.0.0.0 and ::, written out, stand for every address of the machine.
void findListenAddresses(const QString& name, QObject* context,
                         std::function<void(const QList<QHostAddress>& found)> then);

class MetricsEndpoint {
public:
    /// Listens on the first usable address. Throws std::runtime_error if there is none, or the port is taken.
    MetricsEndpoint(const MetricsSettings& settings, const QList<QHostAddress>& addresses);
    ~MetricsEndpoint();

    /// The port and the address in use. If the settings have port 0, a free port was chosen.
    int port() const;
    QHostAddress address() const;
    void add(const QString& source, const pipeline::Measurement& measurement,
             const std::vector<std::string>& labels);
    void setState(const QString& source, const SourceReport& report);
    void countAlert(const AlertNotice& notice);

private:
    class Families;
    std::unique_ptr<Families> m_families;  // first: the server reads them
    class Server;
    std::unique_ptr<Server> m_server;
};

}  // namespace mpm::gui
