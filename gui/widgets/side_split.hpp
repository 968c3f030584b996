// The side panel next to the images, or only one of the two if the screen has no room for both.
#pragma once

#include <QSplitter>

namespace mpm::gui {

class SideSplit : public QSplitter {
    Q_OBJECT
public:
    SideSplit(QWidget* content, QWidget* panel, QWidget* parent = nullptr);

    /// Return and set whether the user wants the panel, for the settings. If the window is narrow,
    /// setPanelWanted() takes effect when the window is wide again.
    bool panelWanted() const { return m_wanted; }
    void setPanelWanted(bool wanted);
    bool panelShown() const { return !m_panel->isHidden(); }
    /// Shows or hides the panel for the user. On a narrow screen, the panel replaces the images until it is
    /// hidden again.
    void showPanel(bool shown);

    /// If `bare`, shows the content alone.
    void setBare(bool bare);

    /// Returns the size of the content alone, so that the window can get smaller than content and panel.
    QSize minimumSizeHint() const override { return m_content->minimumSizeHint(); }

signals:
    void panelChanged(bool shown);

protected:
    bool event(QEvent* event) override;

private:
    void arrange();

    QWidget *m_content, *m_panel;
    bool m_wanted = true;
    bool m_instead = false;  // on a narrow screen, the user asked for the panel
    bool m_narrow = false, m_bare = false;
};

}  // namespace mpm::gui
