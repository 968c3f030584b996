// The main window: places the widgets, and connects the controllers that do the work.
#pragma once

#include <QMainWindow>
#include <QTimer>

#include "gui/widgets/theme.hpp"
#include "gui/window/exports.hpp"
#include "gui/window/front_source.hpp"
#include "gui/window/lane_control.hpp"
#include "gui/window/model_control.hpp"
#include "gui/window/source_tabs.hpp"
#include "gui/window/tune_control.hpp"
#include "gui/window/watch_control.hpp"

class QSplitter;

namespace mpm::gui {

class SideSplit;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    explicit MainWindow(const Options& options, QWidget* parent = nullptr);
    ~MainWindow() override;

    Session& session() { return m_session; }
    Models& models() { return m_models; }
    Engine& engine() { return m_front->engine(); }
    FrontSource& front() { return *m_front; }
    SourceTabs& sources() { return *m_tabs; }
    ModelControl& model() { return *m_model; }
    TuneControl& tuning() { return *m_tune; }
    WatchControl& watching() { return *m_watch; }
    Exports& exports() { return *m_exports; }
    LaneControl& lanes() { return *m_lanes; }
    ViewArea* views() const { return m_parts.views; }
    HeaderBar* header() const { return m_parts.header; }
    GuideStrip* guide() const { return m_parts.guide; }
    TimelinePanel* timeline() const { return m_parts.timeline; }
    Sidebar* sidebar() const { return m_parts.sidebar; }
    SideSplit* sideSplit() const { return m_sideSplit; }
    QString message() const;

    Appearance appearance() const { return m_appearance; }
    void setAppearance(Appearance appearance);
    void setSafePalette(bool safe);
    /// Sets the shortest time between two analysed frames.
    void setInterval(int milliseconds);
    /// Pauses a video, and shows the next frame or the previous frame.
    void step(int direction);
    /// If `on`, computes only the tokens that changed, instead of merging. Reuse suits a fixed camera.
    void setReuse(bool on);
    /// If `on`, class colours fade at pixels with an uncertain class.
    void setConfidence(bool on);
    void setRule(const pipeline::DayNightRule& rule);
    /// Shows a message at the lower edge for a while or, if `trouble`, until the next message.
    void showMessage(const QString& text, bool trouble = false);

signals:
    void reuseChanged(bool on);
    /// Emitted if the user chooses another profile. A window of that profile then replaces this window.
    void profileWanted(const QString& name);

protected:
    void changeEvent(QEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void makeParts();
    void makeControllers();
    void arrange();
    void connectControls();
    void restore();
    void showAppearance(Appearance appearance);
    void showImagesOnly(bool only);
    void sendRequest();
    void sendStyle();
    void save();

    Session m_session;
    Models m_models;
    Parts m_parts;
    std::unique_ptr<FrontSource> m_front;
    std::unique_ptr<ModelControl> m_model;
    std::unique_ptr<TuneControl> m_tune;
    std::unique_ptr<WatchControl> m_watch;
    std::unique_ptr<Exports> m_exports;
    std::unique_ptr<LaneControl> m_lanes;
    SourceTabs* m_tabs = nullptr;
    SideSplit* m_sideSplit = nullptr;
    QSplitter* m_timeSplit = nullptr;
    QString m_message;  // the whole message; the lower edge may show only its beginning
    Appearance m_appearance{};
    std::optional<street::NightParameters> m_night;  // from the command line, until the user changes it
    bool m_scores = false, m_restoring = true;
    QTimer m_second;
};

}  // namespace mpm::gui
