// Checks a source's measurements against the alert rules, and performs the actions of alerts.
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
    /// Emitted if the command of an alert cannot be started.
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
    std::map<std::int64_t, CutOut> m_cutOuts;  // by id of the object
    qint64 m_lastTime = 0;
    QTimer m_clock;  // checks SourceDown rules, even if no measurements come
};

/// Returns the values of `measurement` that rules can check.
pipeline::AlertInput alertInput(const QString& source, const pipeline::Measurement& measurement,
                                const ModelFacts& facts);

/// Returns how many times the rule would have fired on these readings, which must be sorted by time.
int timesFired(const pipeline::AlertRule& rule, const QString& source,
               const std::vector<pipeline::Measurement>& readings, const ModelFacts& facts);

/// Returns text such as "tokens above 500: 612".
QString describeAlert(const pipeline::AlertRule& rule, double value);

/// Shows a desktop notification, if there is a desktop. Returns immediately.
void notifyDesktop(const QString& title, const QString& text);

}  // namespace mpm::gui
