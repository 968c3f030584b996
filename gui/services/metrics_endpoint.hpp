// A page of metrics for Prometheus. By default, only programs on this machine can read the page.
#pragma once

#include <functional>
#include <memory>

#include <QList>

#include "gui/services/alert_center.hpp"
#include "gui/services/watch_settings.hpp"

class QHostAddress;

namespace mpm::gui {

/// Finds the addresses of `name`: an IP address, "localhost", or a host that the system knows. Calls `then`
/// with the addresses (none if the name is unknown), immediately or later in the thread of `context`. If
/// `name` is neither 0.0.0.0 nor ::, leaves out wildcards ("every address of the machine") and multicast.
void findListenAddresses(const QString& name, QObject* context,
                         std::function<void(const QList<QHostAddress>& found)> then);

class MetricsEndpoint {
public:
    /// Listens on the first usable address. Throws std::runtime_error if no address is usable, or the port is
    /// in use.
    MetricsEndpoint(const MetricsSettings& settings, const QList<QHostAddress>& addresses);
    ~MetricsEndpoint();

    /// Return the port and the address in use. If the settings have port 0, the system chooses a free port.
    int port() const;
    QHostAddress address() const;
    void add(const QString& source, const pipeline::Measurement& measurement,
             const std::vector<std::string>& labels);
    void setState(const QString& source, const SourceReport& report);
    void countAlert(const AlertNotice& notice);

private:
    class Families;
    std::unique_ptr<Families> m_families;  // must be before the server, which reads the families
    class Server;
    std::unique_ptr<Server> m_server;
};

}  // namespace mpm::gui
