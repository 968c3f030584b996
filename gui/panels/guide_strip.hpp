// A strip that explains the compared images of the built-in street and offers the next steps.
#pragma once

#include <QFrame>
#include <QLabel>

#include "gui/engine/saved_time.hpp"

class QPushButton;

namespace mpm::gui {

class GuideStrip : public QFrame {
    Q_OBJECT
public:
    explicit GuideStrip(QWidget* parent = nullptr);

    /// Shows the strip if the source is the built-in street, the user has not dismissed the strip, and
    /// the window is tall enough and not full-screen.
    void setSource(const SourceReport& report);
    void setDismissed(bool dismissed);
    bool dismissed() const { return m_dismissed; }
    void setAnalysis(const Analysis& analysis, const SavedTime& saved);
    void setComparison(const Comparison& comparison, const SavedTime& saved);
    QString text() const { return m_text->text(); }

signals:
    void mergeWanted();
    void reuseWanted(bool on);
    void cameraWanted();

private:
    void showOrHide();

    QLabel* m_text;
    QPushButton* m_reuse;
    double m_agreement = 0;
    bool m_scene = false, m_dismissed = false;
};

}  // namespace mpm::gui
