// A source and its workers, for the window and for the program without a window. Every call returns
// immediately; every signal arrives in the main thread, with the newest data.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <QObject>

#include "gui/engine/capture_worker.hpp"
#include "gui/engine/network.hpp"
#include "gui/engine/recorder.hpp"
#include "gui/engine/render_worker.hpp"
#include "gui/engine/saved_time.hpp"

namespace mpm::gui {

class Engine : public QObject {
    Q_OBJECT
public:
    /// `storePath`: the file for the measurements. `network`: shared with other engines; must outlive this
    /// engine. If `network` is null, the engine makes a network.
    explicit Engine(const QString& storePath, SharedNetwork* network = nullptr,
                    pipeline::Store::Access access = pipeline::Store::Access::ReadWrite);
    /// Stops the engine's workers. Waits for a read that is in progress, but at most a few seconds. Waits for
    /// a run of the network only if the engine made the network.
    ~Engine() override;

    /// `name`: the name to show, store and publish; if empty, the address without passwords.
    void openSource(const pipeline::Address& address, const QString& name = {});
    void openSource(const QString& source) { openSource(pipeline::Address(source.toStdString())); }
    /// Sets the number of frames in a day of the built-in street; 0: no time lapse. Applies to sources
    /// opened later.
    void setDayCycle(int frames) { m_scene = CaptureWorker::sceneOptions(frames); }
    void openModel(const QString& model) { m_network->openModel(model); }
    void setRequest(const Request& request);
    void setStyle(const RenderStyle& style) { m_render.setStyle(style); }
    /// `watched`: whether images are visible or recorded. If false, no images are drawn.
    void setWatched(bool watched) { m_watched = watched; }
    void setMasks(const std::vector<pipeline::Polygon>& masks);
    void setRule(const pipeline::DayNightRule& rule);
    /// Returns the rule for day and night in use: the user's rule or, if there is none, the source's default.
    pipeline::DayNightRule rule() const { return m_rule.value_or(CaptureWorker::ruleFor(m_kind)); }
    void setPaused(bool paused);
    /// Controls how a video is played.
    void command(const CaptureWorker::Command& command);
    /// Stores an event. `time`: if absent, now.
    void noteEvent(const QString& kind, const QString& text, std::optional<pipeline::Millis> time = {});

    Recorder& recorder() { return m_recorder; }
    SharedNetwork& network() { return *m_network; }
    /// Returns the source's key in the store and the settings: the `name` given to openSource() or, if it was
    /// empty, the address without passwords. Empty before the first source.
    const QString& sourceName() const { return m_sourceName; }
    /// Sets the name of the source for the user and for reports; empty: the address.
    void setTitle(const QString& title);
    const QString& title() const { return m_title.isEmpty() ? m_sourceName : m_title; }
    const pipeline::Address& address() const { return m_address; }
    const SourceReport& report() const { return m_report; }
    const Request& request() const { return m_request; }
    bool paused() const { return m_paused; }
    /// Returns whether the frame was captured before the last change of schedule or reuse.
    bool isBeforeChange(const Analysis& analysis) const { return analysis.frame.captured < m_changedAt; }

signals:
    void framed(const mpm::gui::LiveFrame& frame);
    void measured(const pipeline::Measurement& measurement, const mpm::gui::AnalysisPtr& analysis);
    void rendered(const mpm::gui::RenderedFrame& frame);
    void compared(const mpm::gui::RenderedComparison& comparison);
    void nightSimulated(const mpm::gui::RenderedNight& night);
    void sourceReported(const mpm::gui::SourceReport& report);
    void modelLoading(const QString& model);
    void modelLoaded(const mpm::gui::ModelFactsPtr& facts);
    /// Emitted if a model cannot be loaded. The previous model, if any, stays in use.
    void modelFailed(const QString& model, const QString& message);
    void networkFailed(const QString& message);
    void happened(const pipeline::Event& event);
    /// Emitted once for each unreadable image of a folder.
    void imageSkipped(const pipeline::SourceProblem& problem);
    /// Emitted if a thread ends unexpectedly. Only capture starts again (in openSource()) without a restart.
    void crashed(const QString& message);

private:
    void wire();
    void onFrame();
    void onAnalysis();
    void onReport(const SourceReport& report);
    Recorder::Question objectsQuestion();
    void setKnownObjects(pipeline::KnownObjects known);
    bool outdated(int generation) const { return generation != m_generation; }

    Recorder m_recorder;
    RenderWorker m_render;
    std::unique_ptr<SharedNetwork> m_ownNetwork;
    SharedNetwork* m_network;
    InferenceChannelPtr m_channel;
    CaptureWorker* m_capture = nullptr;  // child of this object; earlier workers delete themselves
    Request m_request;
    SavedTime m_saved;
    Steady::time_point m_changedAt;  // time of the last change of the schedule or reuse
    std::shared_ptr<const pipeline::KnownObjects> m_known;  // null: not loaded yet
    std::vector<pipeline::Polygon> m_masks;
    pipeline::Address m_address;
    QString m_sourceName, m_title;
    SourceReport m_report;
    pipeline::SceneOptions m_scene = CaptureWorker::sceneOptions(0);
    bool m_watched = true;
    std::optional<pipeline::DayNightRule> m_rule;  // absent: the default of the source
    pipeline::SourceKind m_kind = pipeline::SourceKind::Scene;
    pipeline::Phase m_phase = pipeline::Phase::Day;
    bool m_anyPhase = false;
    pipeline::SourceState m_state = pipeline::SourceState::Connecting;
    std::int64_t m_droppedBefore = 0, m_dropped = 0;
    std::size_t m_skippedImages = 0;  // number of skipped images reported so far
    int m_generation = 0;
    bool m_paused = false;
};

/// Returns the name `shown`, with a number added if the name is taken.
QString freeName(const QString& shown, const std::function<bool(const QString& name)>& isTaken);

/// Returns whether an engine other than `self` has a different address under this name.
bool othersHave(const QString& name, const pipeline::Address& address,
                const std::vector<std::unique_ptr<Engine>>& all, const Engine& self);

/// Returns the address without passwords. Adds a number if an engine other than `self` has a different
/// address that looks the same without passwords, for example another camera on the same network recorder.
QString nameFor(const pipeline::Address& address, const std::vector<std::unique_ptr<Engine>>& all,
                const Engine& self);

/// Returns `key`, the name in the keychain, if it begins with the address (without passwords). Otherwise
/// returns nameFor().
QString nameOf(const pipeline::Address& address, const QString& key,
               const std::vector<std::unique_ptr<Engine>>& all, const Engine& self);

}  // namespace mpm::gui
