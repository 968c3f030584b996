// A thread that reads a source and passes each frame to the window and the network, without waiting for them.
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

    /// The capture thread calls `deliver` for each frame; `deliver` must return immediately.
    CaptureWorker(pipeline::Address address, QString name, int generation, Deliver deliver,
                  const pipeline::SceneOptions& scene);
    ~CaptureWorker() override { finish(); }

    /// Returns the newest frame for the window; absent if it was already taken.
    std::optional<LiveFrame> takeFrame() { return m_outbox.take(); }

    void setRule(const pipeline::DayNightRule& rule);
    /// Returns the default rule for day and night. In the built-in street, night is from sunset to sunrise by
    /// the street's clock. For other sources, the luminance decides.
    static pipeline::DayNightRule ruleFor(pipeline::SourceKind kind);
    void setPaused(bool paused);
    /// A change to the playback of a video. For other sources, command() ignores the change.
    using Command = std::function<void(pipeline::Reader&)>;
    void command(Command command);
    /// Sets the masks. A frame is masked before the network, the window, the store or a video receives it.
    void setMasks(const std::vector<pipeline::Polygon>& masks);

    /// Returns options that make files and folders start again after the end.
    static pipeline::ReaderOptions readerOptions();
    /// Returns the options of the built-in street. `framesPerDay`: if above 0, the street is a time lapse
    /// with this many frames in a day.
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
    std::vector<Command> m_commands;         // guarded by m_mutex; the thread runs the commands
    std::vector<pipeline::Polygon> m_masks;  // guarded by m_mutex
    pipeline::DayNight m_dayNight;           // guarded by m_mutex, because setRule() replaces it
    bool m_ruleOfScene;  // guarded by m_mutex; whether the default rule of the built-in street applies
    pipeline::SourceState m_lastState = pipeline::SourceState::Connecting;
    Steady::time_point m_lastReport;
};

}  // namespace mpm::gui
