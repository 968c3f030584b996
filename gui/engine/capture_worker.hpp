// Reads one source and delivers each frame to the window and to the network, without waiting for either.
#pragma once

#include <functional>

#include "gui/engine/analysis.hpp"
#include "gui/engine/mailbox.hpp"
#include "gui/engine/truth.hpp"
#include "gui/engine/worker.hpp"
#include "pipeline/source/address.hpp"

namespace mpm::gui {

class CaptureWorker : public Worker {
    Q_OBJECT
public:
    using Deliver = std::function<void(const LiveFrame&)>;

    /// `deliver` is called by the capture thread and must return at once.
    CaptureWorker(pipeline::Address address, QString name, int generation, Deliver deliver,
                  const pipeline::SceneOptions& scene);
    ~CaptureWorker() override { finish(); }

    /// For the window: the newest frame that was not taken yet.
    std::optional<LiveFrame> takeFrame() { return m_outbox.take(); }

    void setRule(const pipeline::DayNightRule& rule);
    /// The default rule: by luminance; for the built-in street by its own sun and clock.
    static pipeline::DayNightRule ruleFor(pipeline::SourceKind kind);
    void setPaused(bool paused);
    /// Controls how a video is played; other sources ignore it.
    using Command = std::function<void(pipeline::Reader&)>;
    void command(Command command);
    /// Masks apply before a frame reaches the network, the window, the store or a video.
    void setMasks(const std::vector<pipeline::Polygon>& masks);

    /// Files and folders start again at their end.
    static pipeline::ReaderOptions readerOptions();
    /// Options of the built-in street; `framesPerDay` above 0: time lapse.
    static pipeline::SceneOptions sceneOptions(int framesPerDay);

signals:
    void frameReady();
    void reported(const mpm::gui::SourceReport& report);

protected:
    void work() override;

private:
    void deliver(pipeline::Frame frame);
    void report(const pipeline::SourceStatus& status);
    bool waitWhilePaused();
    void control(pipeline::Reader& reader);

    const pipeline::Address m_address;
    const QString m_name;
    const pipeline::SourceKind m_kind;
    const pipeline::SourceTraits m_is;
    std::unique_ptr<TruthFolder> m_truth;
    const pipeline::SceneOptions m_scene;
    const int m_generation;
    const Deliver m_deliver;
    Mailbox<LiveFrame> m_outbox;
    bool m_paused = false;
    std::vector<Command> m_commands;         // guarded by m_mutex: for the thread to run
    std::vector<pipeline::Polygon> m_masks;  // guarded by m_mutex
    pipeline::DayNight m_dayNight;           // guarded by m_mutex: the rule may change while frames come
    bool m_ruleOfScene;                      // guarded by m_mutex: the built-in street's own rule is in force
    pipeline::SourceState m_lastState = pipeline::SourceState::Connecting;
    Steady::time_point m_lastReport;
};

}  // namespace mpm::gui
