// Emits a Qt signal on SIGINT and SIGTERM, and notifies systemd.
#pragma once

#include <QObject>

namespace mpm::gui {

/// Only one object may exist at a time.
class UnixSignals : public QObject {
    Q_OBJECT
public:
    UnixSignals();
    ~UnixSignals() override;

signals:
    void endWanted();
};

/// In a systemd service of Type=notify, notifies systemd as sd_notify() does; otherwise does nothing.
void notifySystemd(const char* state);

}  // namespace mpm::gui
