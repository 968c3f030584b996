// Checks every measurement of one source against the rules, and runs the actions of an alert.
#pragma once

#include <deque>
#include <map>

#include <QObject>
#include <QTimer>

#include "gui/engine/alert_notice.hpp"
#include "gui/engine/engine.hpp"
#include "pipeline/watch/alert.hpp"

namespace mpm::gui {

class AlertCenter : public QObject {
    Q_OBJECT
public:
    explicit AlertCenter(Engine& engine);

    void setRules(const std::vector<pipeline::AlertRule>& rules) { m_watch.setRules(rules); }

signals:
    void raised(const mpm::gui::AlertNotice& notice);
    /// A command could not be started.
    void failed(const QString& message);

private:
    void onMeasured(const pipeline::Measurement& measurement, const AnalysisPtr& analysis);
    void onClock();
    void keepCutOuts(const Analysis& analysis);
    QImage cutOutFor(const pipeline::AlertRule& rule, const pipeline::Alert& alert,
                     const pipeline::AlertInput& input) const;
    void look(const pipeline::AlertInput& input);
    qint64 nextTime();
    void raiseNext();
    void raise(const pipeline::AlertRule& rule, const AlertNotice& notice);
    void runCommand(const pipeline::AlertRule& rule, const AlertNotice& notice);

    Engine& m_engine;
    pipeline::AlertWatch m_watch;
    std::deque<std::pair<pipeline::AlertRule, AlertNotice>> m_raised;  // alerts whose actions have not begun
    struct CutOut {
        QImage image;
        Steady::time_point time;
    };
    std::map<std::int64_t, CutOut> m_cutOuts;  // by object
    qint64 m_lastTime = 0;                     // of a notice
    QTimer m_clock;                            // a source that is down measures nothing
};

/// The values of a reading that rules are checked against.
pipeline::AlertInput alertInput(const QString& source, const pipeline::Measurement& measurement,
                                const ModelFacts& facts);

/// How often the rule would have fired on these readings, rising in time.
int timesFired(const pipeline::AlertRule& rule, const QString& source,
               const std::vector<pipeline::Measurement>& readings, const ModelFacts& facts);

/// "tokens above 500: 612"
QString describeAlert(const pipeline::AlertRule& rule, double value);

/// The desktop's own notification, if there is a desktop. Returns at once.
void notifyDesktop(const QString& title, const QString& text);

}  // namespace mpm::gui
