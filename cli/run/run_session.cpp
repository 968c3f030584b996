#include "cli/run/run_session.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "base/random.hpp"
#include "base/stopwatch.hpp"
#include "cli/common/error.hpp"
#include "cli/common/files.hpp"
#include "cli/common/sources.hpp"
#include "cli/common/terminal.hpp"
#include "pipeline/chart/axis.hpp"
#include "pipeline/chart/figure.hpp"
#include "pipeline/draw/labels.hpp"
#include "pipeline/draw/text.hpp"
#include "pipeline/segment/model_file.hpp"
#include "pipeline/source/patient.hpp"
#include "pipeline/source/scene_source.hpp"

namespace fs = std::filesystem;

namespace mpm::cli {

namespace {

pipeline::SourceOptions sourceOptions(const RunOptions& options) {
    pipeline::SourceOptions result;
    result.scene.framesPerDay = options.dayCycle;
    result.scene.frames = options.dayCycle;
    result.scene.startHour = 0;
    return result;
}

/// Returns the time to pass to DayNight: the time of day in the built-in street, or the time since the start
/// of the clip. The computer's clock would be wrong, because the program may read a clip faster than the
/// camera recorded it.
std::chrono::system_clock::time_point clockOf(pipeline::SourceKind kind, const pipeline::Frame& frame) {
    using std::chrono::system_clock;
    if (pipeline::traitsOf(kind).scene) return pipeline::sceneTime(frame.seconds);
    return system_clock::time_point(
        std::chrono::duration_cast<system_clock::duration>(std::chrono::duration<double>(frame.seconds)));
}

SaveChoice defaultSave(bool scene, bool detects) {
    const std::string content = detects ? "boxes" : "labels";
    return SaveChoice::parse(content + (scene ? ",overlay,map,csv,panels,timeline" : ",overlay,map,csv"));
}

/// Returns the time limit of a single read in seconds; 0: no limit. The limit may be longer than --duration,
/// because reading a large image may take longer than --duration.
double longestRead(pipeline::SourceKind kind, double duration) {
    return duration > 0 ? std::max(duration, pipeline::traitsOf(kind).remote ? 1.0 : 30.0) : 0;
}

}  // namespace

RunSession::RunSession(const RunOptions& options, pipeline::Network network, Show show)
    : m_options(options), m_segmenter(std::move(network)), m_show(std::move(show)) {
    const cv::Size input = m_segmenter.info().size, step = m_options.window;
    if (step.width > input.width || step.height > input.height)
        throw Error(kWrongUse,
                    cv::format("--window %dx%d: windows of %dx%d would leave gaps; name no larger steps",
                               step.height, step.width, input.height, input.width));
    if (!step.empty()) m_windows.emplace(m_segmenter.network(), step);
    m_description.labels = m_segmenter.info().labels;
    const int classes = std::max<int>(256, static_cast<int>(m_description.labels.size()));
    m_description.palette = pipeline::paletteOf(m_segmenter.info().palette, m_description.labels, classes);
    m_description.opacity = m_options.opacity;
    m_description.map.colours = m_options.mapColours;
    if (m_segmenter.network().random()) m_description.notice = "random weights";
    m_scene = std::all_of(m_options.sources.begin(), m_options.sources.end(),
                          [](const pipeline::Address& source) { return source.reveal() == "demo"; });
    const bool detects = m_segmenter.network().detects();
    m_save = m_options.save          ? *m_options.save
             : m_options.out.empty() ? SaveChoice{}
                                     : defaultSave(m_scene, detects);
    if (detects && m_windows)
        throw Error(kWrongUse,
                    "--window: " + m_segmenter.network().name() + " gives boxes; leave --window out");
    if (detects || m_save.boxes || m_save.tracks) {
        m_objects.emplace(m_segmenter.info(), options, m_save.tracks);
        m_segmenter.setDetections(m_objects->choice());
    }
    if (!m_options.out.empty()) makeFolder(m_options.out);
}

int RunSession::run() {
    catchStopSignals();
    for (const pipeline::Address& source : m_options.sources) {
        if (stopRequested() || m_closed) break;
        runSource(source);
    }
    finish();
    if (m_frames == 0 && m_bad + m_broken > 0)
        throw Error(kBadInput, "none of the sources can be read; see the warnings above");
    return m_bad + m_broken > 0 ? kFailed : kDone;
}

void RunSession::runSource(const pipeline::Address& address) {
    const bool several = m_options.sources.size() > 1;
    const std::int64_t before = m_frames;
    m_nextDue = 0;
    try {
        m_kind = pipeline::sourceKind(address);
        m_dayNight = pipeline::traitsOf(m_kind).scene ? pipeline::DayNight(pipeline::sceneRule())
                                                      : pipeline::DayNight();
        auto source =
            patientSource(address, sourceOptions(m_options), longestRead(m_kind, m_options.duration));
        source->open();
        m_live = source->live();
        m_segmenter.encoder().forget();  // tokens of the previous source cannot be reused
        if (m_objects) m_objects->forget();
        if (!m_live) return runEveryFrame(*source);
        source.reset();  // some cameras serve only one client, and the reader opens the source again
        runLatest(address);
    } catch (const pipeline::LeftBehind& error) {
        if (stopRequested() || m_frames > before) return;
        if (several) return leaveOut(error);
        throw Error(kBadInput, error.what());
    } catch (const pipeline::SourceError& error) {
        if (several) return leaveOut(error);
        if (m_frames == 0) throw Error(kBadInput, error.what());
        finish();
        throw Error(kFailed, error.what());
    } catch (const pipeline::ModelError& error) {
        throw Error(kBadInput, m_segmenter.network().name() + ": " + error.what());
    }
}

/// Warns about a source or image that cannot be read, and counts it. The run continues with the next source.
void RunSession::leaveOut(const pipeline::SourceError& error) {
    warn(error.what());
    ++(pipeline::traitsOf(m_kind).files ? m_bad : m_broken);
}

void RunSession::runEveryFrame(pipeline::Source& source) {
    Progress progress("frame", framesToRead(source));
    for (pipeline::Frame frame; !stopRequested() && !m_closed;) {
        const Stopwatch watch;
        const auto skip = [this](const std::string& message) {
            warn(message);
            ++m_bad;
            return !stopRequested() && !m_closed;
        };
        if (!nextReadable(source, frame, skip)) return;
        if (over(frame.seconds)) return;
        if (due(frame)) analyse(std::move(frame), watch.milliseconds(), 0);
        progress.add();
        frame = {};
    }
}

void RunSession::runLatest(const pipeline::Address& address) {
    pipeline::ReaderOptions how;
    how.retryEnded = false;  // a stream that ended is not opened again, but a broken connection is retried
    pipeline::Reader reader(address, how, sourceOptions(m_options));
    const std::int64_t before = m_frames;
    const Stopwatch run;
    Progress progress("frame", -1);
    std::int64_t dropped = 0;
    for (pipeline::Frame frame; !stopRequested() && !m_closed && reader.running();) {
        const Stopwatch watch;
        // A stalled stream has no frames, so frame times alone could not end the run.
        if (over(run.seconds())) break;
        if (!reader.take(frame, std::chrono::milliseconds(200))) continue;
        if (over(frame.seconds)) break;
        if (!due(frame)) continue;
        const std::int64_t now = reader.status().dropped;
        analyse(std::move(frame), watch.milliseconds(), now - dropped);
        dropped = now;
        progress.add();
        frame = {};
    }
    if (reader.status().state == pipeline::SourceState::Failed)
        throw pipeline::SourceError(reader.status().problem);
    if (m_frames == before && m_options.duration > 0 && !stopRequested() && !m_closed)
        throw pipeline::SourceError(address.shown() +
                                    cv::format(": no frame came in %g s; ", m_options.duration) +
                                    "check that the stream runs, or raise --duration");
}

/// Returns the number of frames to read; negative if unknown.
std::int64_t RunSession::framesToRead(const pipeline::Source& source) const {
    if (m_options.duration <= 0) return source.length();
    if (source.rate() <= 0) return -1;
    const auto frames = static_cast<std::int64_t>(std::ceil(m_options.duration * source.rate()));
    return source.length() < 0 ? frames : std::min(frames, source.length());
}

bool RunSession::due(const pipeline::Frame& frame) {
    if (frame.number % m_options.stride != 0 || frame.seconds + 1e-9 < m_nextDue) return false;
    // The next time is a multiple of the interval, so that a late frame does not delay all later frames.
    const double every = m_options.every;
    if (every > 0) m_nextDue = (std::floor((frame.seconds + 1e-9) / every) + 1) * every;
    return true;
}

bool RunSession::over(double seconds) const {
    return m_options.duration > 0 && seconds >= m_options.duration;
}

void RunSession::analyse(pipeline::Frame frame, double captureMs, std::int64_t dropped) {
    if (m_options.night) {
        // The same image must get the same noise in every run.
        const bool file = pipeline::traitsOf(m_kind).files;
        const std::uint64_t seed = file ? seedOf(frame.name) : static_cast<std::uint64_t>(frame.number);
        frame.image = street::night(frame.image, *m_options.night, seed);
    }
    FrameResult result;
    const auto scores = m_objects ? pipeline::Scores::Coarse : pipeline::Scores::None;
    result.segmentation =
        m_windows ? m_windows->segment(frame.image) : m_segmenter.segment(frame.image, scores);
    if (!m_live || m_save.images()) frame.name = uniqueName(frame.name);
    result.frame = std::move(frame);
    if (m_scene) result.clock = pipeline::hourText(result.frame.seconds / 3600);
    const pipeline::Segmentation& seg = result.segmentation;
    pipeline::Measurement& m = result.measurement = pipeline::measurementOf(seg);
    m.time = std::chrono::duration_cast<pipeline::Millis>(result.frame.time.time_since_epoch());
    m.frame = result.frame.number;
    m.luminance = pipeline::luminance(result.frame.image);
    m.phase = m_dayNight.update(m.luminance, clockOf(m_kind, result.frame));
    m.captureMs = captureMs;
    m.dropped = dropped;
    if (m_objects && (seg.detector || !seg.labels.empty())) m_objects->find(result);
    if (seg.detector) return deliver(result);
    if (seg.labels.empty())
        result.featureColours = m_featureColours.colours(seg.features, seg.grid);
    else
        m.classShares = pipeline::classShares(seg.labels, static_cast<int>(m_description.labels.size()));
    deliver(result);
}

std::string RunSession::uniqueName(const std::string& name) {
    std::string unique = name;
    for (int copy = 2; !m_names.insert(unique).second; ++copy)
        unique = name + "_" + std::to_string(copy);
    return unique;
}

/// Checks --save before anything is written, but after the first forward, which shows whether the model has
/// classes.
void RunSession::checkSave(const pipeline::Segmentation& first) const {
    const std::string& name = m_segmenter.network().name();
    if (first.detector && m_options.save && m_options.save->labels)
        throw Error(kWrongUse, "--save labels: " + name + " gives boxes, no labels; write boxes instead");
    if (!first.detector && first.labels.empty() && (m_save.boxes || m_save.tracks))
        throw Error(kWrongUse, std::string("--save ") + (m_save.boxes ? "boxes: " : "tracks: ") + name +
                                   " gives neither boxes nor labels");
    if (first.detector) return;
    if (!first.labels.empty() || !m_options.save || !m_options.save->labels) return;
    if (m_segmenter.network().hasQueries())
        throw Error(kWrongUse, "--save labels: " + name + ": " + pipeline::kQueriesAdvice);
    throw Error(kWrongUse, "--save labels: " + name +
                               " has no classes, its output is features; leave labels out (overlay shows the "
                               "first three principal components)");
}

/// Opens tables at the first result, because the number of stages is then known.
void RunSession::start(const FrameResult& first) {
    checkSave(first.segmentation);
    if (m_segmenter.network().hasQueries())
        warn(m_segmenter.network().name() + ": " + pipeline::kQueriesAdvice);
    m_started = true;
    if (first.segmentation.labels.empty()) {
        m_save.labels = false;
        // Without labels, columns of class shares would be empty. A detector still needs the names, for its
        // boxes.
        if (!first.segmentation.detector) m_description.labels.clear();
    }
    m_description.tracks = m_save.tracks;
    if (m_save.boxes || m_save.tracks) m_objectFiles.emplace(m_options, m_segmenter.info(), m_save);
    m_description.stages = static_cast<int>(first.measurement.stageTokens.size());
    m_description.reuse = first.segmentation.tokens.reuse.state != ReuseState::Off;
    if (m_description.reuse)
        m_stageNames = {"computed, with reuse"};
    else
        for (const mpm::Stage& stage : first.segmentation.tokens.stages)
            m_stageNames.push_back("after the merge before block " + std::to_string(stage.block));
    if (m_options.out.empty()) {
        if (!m_show) m_tables.emplace_back(std::cout, TokenTable::Form::Csv, m_description);
        return;
    }
    const auto path = [&](const char* name) { return (fs::path(m_options.out) / name).string(); };
    if (m_save.csv) m_tables.emplace_back(path("tokens.csv"), TokenTable::Form::Csv, m_description);
    if (m_save.jsonl) m_tables.emplace_back(path("tokens.jsonl"), TokenTable::Form::JsonLines, m_description);
}

void RunSession::deliver(FrameResult& result) {
    if (!m_started) start(result);
    const Stopwatch watch;
    if (m_save.images()) writeImages(m_options.out, result, m_description, m_save);
    if (m_show) m_closed = !m_show(overlayOf(result, m_description));
    result.measurement.drawMs = watch.milliseconds();
    for (TokenTable& table : m_tables)
        table.add(result);
    if (m_objectFiles) m_objectFiles->add(result);
    const pipeline::Measurement& m = result.measurement;
    const double time = m_scene ? result.frame.seconds / 3600 : result.frame.seconds;
    std::vector<int> kept = m.stageTokens.empty() ? std::vector<int>{m.tokensIn} : m.stageTokens;
    if (m_description.reuse) kept = {m.tokensComputed()};
    const bool night = m.phase == pipeline::Phase::Night;
    m_sums.add(kept.back(), night);
    if (m_save.timeline) addToTimeline({time, std::move(kept), m.luminance, night});
    m_tokensIn = std::max(m_tokensIn, m.tokensIn);
    m_networkMs += m.networkMs;
    ++m_frames;
}

/// Adds a point to the timeline. If the timeline is full, drops every second point, and from then on adds
/// only half as many frames.
void RunSession::addToTimeline(pipeline::TimelinePoint point) {
    constexpr std::size_t kMostPoints = std::size_t{1} << 18;
    if (m_frames % m_timelineStep != 0) return;
    m_timeline.push_back(std::move(point));
    if (m_timeline.size() < kMostPoints) return;
    for (std::size_t i = 0; 2 * i < m_timeline.size(); ++i)
        m_timeline[i] = std::move(m_timeline[2 * i]);
    m_timeline.resize(m_timeline.size() / 2);
    m_timelineStep *= 2;
}

std::string RunSession::summaryLine() const {
    const pipeline::DayNightSummary s = m_sums.summary();
    const std::string head =
        cv::format("%lld frame%s of %d tokens, %s ", static_cast<long long>(m_frames),
                   m_frames == 1 ? "" : "s", m_tokensIn, m_description.reuse ? "computed" : "kept");
    if (s.days > 0 && s.nights > 0)
        return head + cv::format("by day %.1f +- %.1f (%d frames), by night %.1f +- %.1f (%d): %+.2f %%",
                                 s.dayMean, s.daySpread, s.days, s.nightMean, s.nightSpread, s.nights,
                                 s.difference());
    const bool day = s.days > 0;
    return head + cv::format("%.1f +- %.1f, all by %s", day ? s.dayMean : s.nightMean,
                             day ? s.daySpread : s.nightSpread, day ? "day" : "night");
}

void RunSession::finish() {
    if (m_frames == 0) return;
    if (m_save.timeline) {
        pipeline::TimelineStyle style;
        style.title = m_scene ? "Tokens through a day in the built-in street" : "Tokens over time";
        if (!m_description.notice.empty()) style.title += " (" + m_description.notice + ")";
        style.unit = m_scene ? "h" : "s";
        style.tokensIn = m_tokensIn;
        style.stages = m_stageNames;
        if (m_description.reuse) style.counted = "tokens computed";
        const std::string sources = m_options.sources.size() == 1
                                        ? m_options.sources.front().shown()
                                        : std::to_string(m_options.sources.size()) + " sources";
        style.origin = pipeline::originText({fs::path(m_segmenter.network().name()).filename(), sources});
        writeImage((fs::path(m_options.out) / "timeline.png").string(),
                   pipeline::drawTimeline(m_timeline, style));
    }
    if (m_bad > 0) printError(std::to_string(m_bad) + " images could not be read and were left out");
    if (m_broken > 0) printError(std::to_string(m_broken) + " sources could not be read to their end");
    if (m_options.out.empty()) return;
    std::cout << summaryLine() << (m_objects ? m_objects->crossingText() : std::string())
              << cv::format("\nnetwork %.1f ms a frame; written to ", m_networkMs / double(m_frames))
              << m_options.out << std::endl;
}

}  // namespace mpm::cli
