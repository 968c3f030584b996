// SIGINT and SIGTERM as a Qt signal, and a word to systemd.
#pragma once

#include <QObject>

namespace mpm::gui {

/// One at a time.
class UnixSignals : public QObject {
    Q_OBJECT
public:
    UnixSignals();
    ~UnixSignals() override;

signals:
    void endWanted();
};

/// What sd_notify does, for a service of Type=notify; nothing elsewhere.
void notifySystemd(const char* state);

}  // namespace mpm::gui
