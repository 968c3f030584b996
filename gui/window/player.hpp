// A player for recordings. The frames shown are not analysed, stored or published, and cause no alerts.
#pragma once

#include <QDialog>

#include "gui/engine/capture_worker.hpp"
#include "gui/widgets/viewport.hpp"

namespace mpm::gui {

class ImageView;
class PlaybackBar;

class Player : public QDialog {
    Q_OBJECT
public:
    /// `title`: the rule, the source, or the name of the file.
    Player(const QString& file, const QString& title, QWidget* parent = nullptr);
    ~Player() override;

    ImageView* view() const { return m_view; }
    PlaybackBar* bar() const { return m_bar; }

private:
    void onReport(const SourceReport& report);
    void setPaused(bool paused);
    void addKeys();

    Viewport m_viewport;
    ImageView* m_view;
    PlaybackBar* m_bar;
    CaptureWorker m_capture;
    SourceReport m_report;
    bool m_paused = false;
};

}  // namespace mpm::gui
