// Passes the signals of the source in front (the source that the window shows) to models and widgets.
#pragma once

#include <memory>
#include <optional>

#include <QElapsedTimer>

#include "gui/window/parts.hpp"

namespace mpm::gui {

class FrontSource : public QObject {
    Q_OBJECT
public:
    explicit FrontSource(const Parts& parts);

    Engine& engine() const { return *m_engine; }
    bool is(const Engine& engine) const { return &engine == m_engine; }
    void select(Engine& engine);
    /// Opens another source in engine(). `name`: as in Session::openSource().
    void open(const QString& source, const std::optional<QString>& name = {});
    /// Must be called after engine() has opened another source. While the keychain looks up the address of
    /// the new source, engine() still measures the previous source.
    void begin();
    void setPaused(bool paused);
    void setReport(const SourceReport& report);
    /// Must be called after the source or its regions in the watch settings change.
    void updateRegions();
    /// Sets the span over which day and night are compared; 0: all stored readings.
    void setComparedHours(int hours);
    /// Must be called once a second.
    void updateRates();
    /// Shows the stored image nearest to a moment.
    void showPast(qint64 time) { showPastOf(m_engine->sourceName(), time); }
    /// Shows a past image of any source, even if the source is not open now.
    void showPastOf(const QString& source, qint64 time);

signals:
    void messagePosted(const QString& text, bool trouble = false);
    void pausedChanged(bool paused);
    /// Emitted with the first measurement of a source or of another model, or after a change of schedule.
    void modelMeasured();

private:
    void stepPast(int direction);
    void clear();
    void compareAgain(const pipeline::Setup& setup);
    void connectImages(QObject* link);
    void connectEvents(QObject* link);
    void connectRecorder(QObject* link);
    void onMeasured(const pipeline::Measurement& measurement, const AnalysisPtr& analysis);

    const Parts m_parts;
    Engine* m_engine = nullptr;
    QString m_pastOf;                 // the source whose past is shown
    std::unique_ptr<QObject> m_link;  // owns the connections to the engine
    SourceReport m_report;
    int m_analysed = 0;
    std::int64_t m_framesBefore = 0;
    QElapsedTimer m_sinceRates, m_sinceComparison;
};

}  // namespace mpm::gui
