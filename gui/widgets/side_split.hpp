// Shows the side panel next to the images, or only one of them if the window has no room for both.
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
    /// Shows or hides the panel for the user. In a narrow window, the panel replaces the images until the
    /// user hides the panel again.
    void showPanel(bool shown);

    /// If `bare`, shows the content alone.
    void setBare(bool bare);

    /// Ignores the panel, because a narrow window shows only the content or the panel.
    QSize minimumSizeHint() const override { return m_content->minimumSizeHint(); }

signals:
    void panelChanged(bool shown);

protected:
    bool event(QEvent* event) override;

private:
    void arrange();

    QWidget *m_content, *m_panel;
    bool m_wanted = true;
    bool m_instead = false;  // whether the panel replaces the images in a narrow window
    bool m_narrow = false, m_bare = false;
};

}  // namespace mpm::gui
