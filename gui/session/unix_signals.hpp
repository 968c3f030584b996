// SIGINT and SIGTERM as a Qt signal, and notification of systemd.
#pragma once

#include <QObject>

namespace mpm::gui {

/// Only a single object may exist at a time.
class UnixSignals : public QObject {
    Q_OBJECT
public:
    UnixSignals();
    ~UnixSignals() override;

signals:
    void endWanted();
};

/// Like sd_notify, for a service of Type=notify; does nothing elsewhere.
void notifySystemd(const char* state);

}  // namespace mpm::gui
