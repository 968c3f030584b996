#include "gui/engine/capture_worker.hpp"

#include "gui/text/source_text.hpp"
#include "pipeline/source/scene_source.hpp"

namespace mpm::gui {

namespace {

constexpr std::chrono::milliseconds kFramePoll{100};  // longest wait for a frame before the next check
constexpr double kSceneStart = 16;  // hour at which the built-in street starts: some daylight, then dusk
constexpr std::chrono::milliseconds kReportEvery{
    500};  // least time between two reports that differ only in counters, not in the state

double millisecondsSince(Steady::time_point start) {
    return std::chrono::duration<double, std::milli>(Steady::now() - start).count();
}

pipeline::SourceKind kindOf(const pipeline::Address& source) {
    try {
        return pipeline::sourceKind(source);
    } catch (const pipeline::SourceError&) {
        return pipeline::SourceKind::Video;  // the reader reports the error
    }
}

}  // namespace

CaptureWorker::CaptureWorker(pipeline::Address address, QString name, int generation, Deliver deliver,
                             const pipeline::SceneOptions& scene)
    : Worker("capture"),
      m_address(std::move(address)),
      m_name(std::move(name)),
      m_kind(kindOf(m_address)),
      m_is(pipeline::traitsOf(m_kind)),
      m_scene(scene),
      m_generation(generation),
      m_deliver(std::move(deliver)),
      m_dayNight(ruleFor(m_kind)),
      m_ruleOfScene(m_is.scene) {}

pipeline::ReaderOptions CaptureWorker::readerOptions() {
    pipeline::ReaderOptions options;
    options.loop = true;
    return options;
}

pipeline::SceneOptions CaptureWorker::sceneOptions(int framesPerDay) {
    pipeline::SceneOptions options;
    options.startHour = kSceneStart;
    options.framesPerDay = framesPerDay;
    return options;
}

pipeline::DayNightRule CaptureWorker::ruleFor(pipeline::SourceKind kind) {
    return pipeline::traitsOf(kind).scene ? pipeline::sceneRule() : pipeline::DayNightRule();
}

void CaptureWorker::setRule(const pipeline::DayNightRule& rule) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_dayNight = pipeline::DayNight(rule);
    m_ruleOfScene = false;
}

void CaptureWorker::setPaused(bool paused) {
    if (m_is.seekable) return command([paused](pipeline::Reader& reader) { reader.setHeld(paused); });
    change([&] { m_paused = paused; });
}

void CaptureWorker::command(Command command) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    if (m_is.seekable) m_commands.push_back(std::move(command));
}

void CaptureWorker::control(pipeline::Reader& reader) {
    std::vector<Command> commands;
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        commands.swap(m_commands);
    }
    for (const Command& command : commands)
        command(reader);
}

void CaptureWorker::setMasks(const std::vector<pipeline::Polygon>& masks) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_masks = masks;
}

void CaptureWorker::work() {
    pipeline::SourceOptions sourceOptions;
    sourceOptions.scene = m_scene;
    if (m_is.files) m_truth = TruthFolder::beside(m_address.reveal());
    pipeline::Reader reader(m_address, readerOptions(), sourceOptions);
    while (!stopping()) {
        if (waitWhilePaused()) {
            pipeline::Frame stale;
            reader.take(stale, std::chrono::milliseconds(0));  // drops a frame that came during the pause
            continue;
        }
        control(reader);
        pipeline::Frame frame;
        if (reader.take(frame, kFramePoll)) deliver(std::move(frame));
        report(reader.status());
        if (!reader.running()) break;
    }
    report(reader.status());
}

/// Waits while the source is paused. Returns whether the source was paused.
bool CaptureWorker::waitWhilePaused() {
    std::unique_lock<std::mutex> lock(m_mutex);
    if (!m_paused) return false;
    m_changed.wait(lock, [this] { return !m_paused || stopping(); });
    return true;
}

void CaptureWorker::deliver(pipeline::Frame frame) {
    const Steady::time_point start = Steady::now();
    LiveFrame live;
    live.generation = m_generation;
    live.number = frame.number;
    // Only a video has passes. An image or a folder is read again because a file may have changed.
    live.pass = m_is.seekable ? frame.pass : 0;
    live.time = frame.time;
    live.captured = start;
    live.pixels = std::move(frame.image);
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        live.masks = m_masks;
    }
    pipeline::applyMasks(live.pixels, live.masks);
    live.image = toImage(live.pixels);
    live.luminance = pipeline::luminance(live.pixels);
    live.saturation = pipeline::saturation(live.pixels);
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        const auto time = m_ruleOfScene ? pipeline::sceneTime(frame.seconds) : live.time;
        live.phase = m_dayNight.update(live.luminance, time, live.saturation);
    }
    live.captureMs = millisecondsSince(start);
    if (m_truth) live.truth = m_truth->of(frame.name);
    m_deliver(live);
    if (m_outbox.put(std::move(live))) emit frameReady();
}

void CaptureWorker::report(const pipeline::SourceStatus& status) {
    const Steady::time_point now = Steady::now();
    if (status.state == m_lastState && now - m_lastReport < kReportEvery) return;
    m_lastState = status.state;
    m_lastReport = now;
    SourceReport report;
    report.generation = m_generation;
    report.name = m_name;
    report.kind = m_kind;
    report.status = status;
    report.status.problem = safeProblem(m_address, status.problem, 1000);
    for (pipeline::SourceProblem& problem : report.status.unreadable)
        problem = safeProblem(m_address, problem, 1000);
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        report.phaseFlips = m_dayNight.flips();
    }
    post([this, report] { emit reported(report); });
}

}  // namespace mpm::gui
