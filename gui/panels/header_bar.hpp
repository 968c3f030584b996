// A bar with the most important facts: source and state, model, effect of merging.
#pragma once

#include <QFrame>
#include <QToolButton>

#include "gui/engine/saved_time.hpp"
#include "gui/models/health_model.hpp"
#include "pipeline/store/day_night_statistics.hpp"

class QHBoxLayout;
class QLabel;

namespace mpm::gui {

class SourceBadge;

class HeaderBar : public QFrame {
    Q_OBJECT
public:
    explicit HeaderBar(QWidget* parent = nullptr);

    /// `address`: shown in the tool tip; if empty, the tool tip shows the name of the source.
    void setSource(const SourceReport& report, bool paused, const QString& address = {});
    /// `street`: whether the model is trained on the built-in street only. If so, the header shows a warning
    /// while another source is shown.
    void setModel(const QString& text, bool warning, bool street = false);
    void setAnalysis(const Analysis& analysis);
    void setSaved(const SavedTime& saved);
    void clear();  ///< must be called if another source is shown
    /// If `stale`, marks the times as older than the frame; otherwise removes the mark.
    void setStale(bool stale);
    void setDayNight(const pipeline::DayNightStatistics& statistics);
    QString badgeText() const;
    /// If `on`, shows the mark of a recording; a click on the mark ends the recording.
    void setRecording(bool on) { m_recording->setVisible(on); }
    /// Lets the bar become narrow. A narrow bar shortens names and hides figures. It hides the speed-up last.
    QSize minimumSizeHint() const override;

signals:
    void endRecordingWanted();

protected:
    bool event(QEvent* event) override;

private:
    void showModel();
    QLabel* addFigure(const QString& caption, double size = 1.25);
    void setReuse(const ReuseReport& reuse);
    static void setCaption(QLabel* figure, const QString& caption);
    void hideFiguresThatDoNotFit();

    QString m_modelText;
    bool m_reuses = false;
    bool m_modelWarning = false, m_streetModel = false, m_streetShown = true;
    QHBoxLayout* m_row;
    SourceBadge* m_badge;
    QToolButton* m_recording;
    QLabel *m_source, *m_model;
    QLabel *m_speed, *m_tokens, *m_times, *m_difference;
    bool m_differs = false;  // whether night and day differ by more than the scatter of single frames
};

}  // namespace mpm::gui
