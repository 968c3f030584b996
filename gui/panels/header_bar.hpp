// What somebody who walks by must see: which source and whether it lives, which model, what merging does.
#pragma once

#include <QFrame>

#include "gui/models/health_model.hpp"
#include "gui/models/saved_time.hpp"
#include "pipeline/store/day_night_statistics.hpp"

class QHBoxLayout;
class QLabel;

namespace mpm::gui {

class SourceBadge;

class HeaderBar : public QFrame {
    Q_OBJECT
public:
    explicit HeaderBar(QWidget* parent = nullptr);

    void setSource(const SourceReport& report, bool paused);
    void setModel(const QString& text, bool warning);
    void setAnalysis(const Analysis& analysis);
    void setSaved(const SavedTime& saved);
    void setDayNight(const pipeline::DayNightStatistics& statistics);
    QString badgeText() const;
    /// The names may shrink and the figures go, the tokens last.
    QSize minimumSizeHint() const override;

protected:
    bool event(QEvent* event) override;

private:
    QLabel* addFigure(const QString& caption);
    void hideWhatDoesNotFit();

    QHBoxLayout* m_row;
    SourceBadge* m_badge;
    QLabel *m_source, *m_model;
    QLabel *m_tokens, *m_network, *m_saved, *m_difference;
};

}  // namespace mpm::gui
