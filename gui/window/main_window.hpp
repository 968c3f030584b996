// Puts models, views and engine together; what each of them does it does itself.
#pragma once

#include <QElapsedTimer>
#include <QMainWindow>
#include <QTimer>

#include "gui/engine/engine.hpp"
#include "gui/models/alert_model.hpp"
#include "gui/models/health_model.hpp"
#include "gui/models/legend_model.hpp"
#include "gui/models/region_model.hpp"
#include "gui/models/saved_time.hpp"
#include "gui/models/schedule_model.hpp"
#include "gui/models/statistics_model.hpp"
#include "gui/models/timeline_data.hpp"
#include "gui/services/model_converter.hpp"
#include "gui/services/services.hpp"
#include "gui/session/options.hpp"
#include "gui/session/profile.hpp"
#include "gui/window/view_area.hpp"

class QLabel;
class QSplitter;
class QTabBar;

namespace mpm::gui {

class ConversionBar;
class HeaderBar;
class SideSplit;
class Sidebar;
class TimelinePanel;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    explicit MainWindow(const Options& options, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// The one in front.
    Engine& engine() { return *m_engine; }
    const std::vector<std::unique_ptr<Engine>>& engines() const { return m_engines; }
    Services& services() { return m_services; }
    ViewArea* views() const { return m_views; }
    HeaderBar* header() const { return m_header; }
    TimelinePanel* timeline() const { return m_timeline; }
    Sidebar* sidebar() const { return m_sidebar; }
    SideSplit* sideSplit() const { return m_sideSplit; }
    ScheduleModel& schedule() { return m_schedule; }
    LegendModel& legend() { return m_legend; }
    StatisticsModel& statistics() { return m_statistics; }
    HealthModel& health() { return m_health; }
    TimelineData& timelineData() { return m_timelineData; }
    AlertModel& alerts() { return m_alerts; }
    RegionModel& regions() { return m_regions; }
    Appearance appearance() const { return m_state.appearance; }
    bool safePalette() const { return m_state.safePalette; }
    const Profile& profile() const { return m_profile; }
    QString message() const;

public slots:
    /// By hand, so that they come back at the next start; what the command line names does not.
    void openSource(const QString& source);
    void openModel(const QString& model);
    /// Beside those that are open, with a tab of its own.
    void addSource(const QString& source);
    void closeSource(int index);
    void showSourceAt(int index);
    /// Takes effect and is written to the profile at once.
    void setWatch(const mpm::gui::WatchSettings& settings);
    void setSafePalette(bool safe);
    void toggleRecording();
    /// Makes the shape drawn next on the picture a region, or a mask.
    void drawRegion();
    void drawMask();
    void exportAll(const QString& file);
    void exportPicture(const QString& file);
    void exportTimeline(const QString& file);
    /// Converts a raw export and opens what comes of it.
    void convertModel(const QString& file);
    void cancelConversion();
    void setPaused(bool paused);
    void setAppearance(mpm::gui::Appearance appearance);
    void setInterval(int milliseconds);
    void setRule(const pipeline::DayNightRule& rule);
    void exportCsv(const QString& file);
    /// Says something for a while, at the lower edge.
    void say(const QString& text, bool trouble = false);

signals:
    void pausedChanged(bool paused);
    void recordingChanged(bool recording);
    void watchChanged();

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void build();
    void restore(const Options& options);
    void connectEngine();
    void connectRecorder();
    void connectControls();
    void connectServices();
    void connectConverter();
    void showSource(const QString& source);
    Engine& makeEngine();
    void select(int index);
    void openIn(Engine& engine, const QString& source);
    void openWithSecret(Engine& engine, const QString& source);
    void startSource(Engine& engine, const QString& source, const QString& key);
    void refuseSource(Engine& engine, const QString& name, const pipeline::SourceProblem& problem);
    void nameTabs();
    void watchTile(Engine& engine);
    void applyWatched();
    void applyBlind();
    void updateRegions();
    void offerConversion(const QString& model, const QString& message);
    void exportTo(const QString& file, pipeline::Millis from, pipeline::Millis to);
    void sendRequest();
    void sendStyle();
    void onMeasured(const pipeline::Measurement& measurement, const AnalysisPtr& analysis);
    void onSource(const SourceReport& report);
    void onModel(const ModelFactsPtr& facts);
    void onModelFailed(const QString& model, const QString& message);
    void onSecond();
    void saveProfile();

    Profile m_profile;
    ProfileState m_state;
    ScheduleModel m_schedule;
    LegendModel m_legend;
    StatisticsModel m_statistics;
    HealthModel m_health;
    TimelineData m_timelineData;
    AlertModel m_alerts;
    RegionModel m_regions;

    HeaderBar* m_header = nullptr;
    ViewArea* m_views = nullptr;
    TimelinePanel* m_timeline = nullptr;
    Sidebar* m_sidebar = nullptr;
    SideSplit* m_sideSplit = nullptr;
    QSplitter* m_timeSplit = nullptr;
    QTabBar* m_tabs = nullptr;
    ConversionBar* m_conversion = nullptr;

    std::map<const Engine*, QString> m_stored;  // as the settings name what each engine watches
    ModelFactsPtr m_facts;
    SavedTime m_saved;
    QString m_wantedModel;  // asked for by hand, kept once it runs
    SourceReport m_report;
    bool m_scores = false, m_restoring = true;
    QString m_said;  // the whole of what the lower edge may show only the beginning of
    int m_analysed = 0;
    std::int64_t m_framesBefore = 0;
    const int m_dayCycle;  // of the command line
    QTimer m_second;
    QElapsedTimer m_sinceRates;
    ModelConverter m_converter;
    SharedNetwork m_network;
    Services m_services;
    bool m_watchDamaged = false;  // the file is left as it is
    // Last: their workers end before what they talk to does.
    std::vector<std::unique_ptr<Engine>> m_engines;
    Engine* m_engine = nullptr;
    std::unique_ptr<QObject> m_link;  // what the engine in front is connected through
};

}  // namespace mpm::gui
