// Lets the rules look at every measurement of one source, and does what an alert asks for.
#pragma once

#include <QDateTime>
#include <QObject>
#include <QTimer>

#include "gui/engine/engine.hpp"
#include "pipeline/watch/alert.hpp"

namespace mpm::gui {

struct AlertNotice {
    QDateTime time;
    QString source, rule;
    double value = 0;
    QString text;         ///< for a reader
    bool record = false;  ///< a video around it is wanted
};

class AlertCenter : public QObject {
    Q_OBJECT
public:
    explicit AlertCenter(Engine& engine, QObject* parent = nullptr);

    void setRules(const std::vector<pipeline::AlertRule>& rules);

signals:
    void raised(const mpm::gui::AlertNotice& notice);
    /// A command that could not be started.
    void failed(const QString& message);

private:
    void onMeasured(const pipeline::Measurement& measurement, const AnalysisPtr& analysis);
    void onClock();
    void look(const pipeline::AlertInput& input);
    void raise(const pipeline::AlertRule& rule, double value);
    void runCommand(const pipeline::AlertRule& rule, const AlertNotice& notice);

    Engine& m_engine;
    pipeline::AlertWatch m_watch;
    QTimer m_clock;  // a source that is down measures nothing
};

/// "tokens above 500: 612"
QString describeAlert(const pipeline::AlertRule& rule, double value);

/// The desktop's own notification, where there is a desktop. Returns at once.
void notifyDesktop(const QString& title, const QString& text);

}  // namespace mpm::gui

Q_DECLARE_METATYPE(mpm::gui::AlertNotice)
