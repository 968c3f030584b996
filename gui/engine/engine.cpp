#include "gui/engine/engine.hpp"

#include <QCoreApplication>
#include <QPointer>
#include <QTimer>

#include "gui/text/safe_text.hpp"

namespace mpm::gui {

namespace {

constexpr std::chrono::seconds kStorePatience{5};

pipeline::Millis millis(System::time_point time) {
    return std::chrono::duration_cast<pipeline::Millis>(time.time_since_epoch());
}

pipeline::Measurement readingOf(const Analysis& analysis, double drawMs, std::int64_t dropped) {
    pipeline::Measurement m = pipeline::measurementOf(analysis.merged);
    m.time = millis(analysis.frame.time);
    m.frame = analysis.frame.number;
    m.luminance = analysis.frame.luminance;
    m.phase = analysis.frame.phase;
    m.captureMs = analysis.frame.captureMs;
    m.drawMs = drawMs;
    m.dropped = dropped + analysis.skipped;
    m.classShares = analysis.shares;
    m.regions = analysis.regions;
    if (analysis.objects) {
        m.objectCounts = analysis.objects->counts;
        m.objects = 0;
        for (const auto& [label, count] : m.objectCounts)
            *m.objects += count;
    }
    m.pass = analysis.frame.pass;
    // A stream with suspended reuse is stored as "reuse" too, although its tokens merge for a while.
    m.setup = m.recomputed ? pipeline::Setup{analysis.model->name.toStdString(), "reuse", {}}
                           : pipeline::Setup{analysis.model->name.toStdString(), "mpm", analysis.schedule};
    return m;
}

}  // namespace

Engine::Engine(const QString& storePath, SharedNetwork* network, pipeline::Store::Access access)
    : m_recorder(storePath, access),
      m_ownNetwork(network == nullptr ? std::make_unique<SharedNetwork>() : nullptr),
      m_network(network == nullptr ? m_ownNetwork.get() : network),
      m_channel(m_network->worker().addChannel()) {
    qRegisterMetaType<SourceReport>();
    wire();
    m_recorder.start();
    m_render.start();
}

Engine::~Engine() {
    // Asks all workers to stop before waiting for any of them, so that they end in parallel.
    const QList<CaptureWorker*> captures = findChildren<CaptureWorker*>();
    for (CaptureWorker* capture : captures)
        capture->stop();
    m_channel->disconnect(this);
    m_network->worker().removeChannel(m_channel);
    if (m_ownNetwork) m_ownNetwork->stop();
    m_render.stop();
    for (CaptureWorker* capture : captures)
        capture->finish();
}

void Engine::wire() {
    connect(m_channel.get(), &InferenceChannel::analysed, this, &Engine::onAnalysis);
    connect(m_channel.get(), &InferenceChannel::compared, this, [this] {
        if (auto found = m_channel->takeComparison();
            found && !outdated((*found)->analysis->frame.generation)) {
            if (!isBeforeChange(*(*found)->analysis) && (*found)->with.empty()) m_saved.add(**found);
            m_render.show(*found);
        }
    });
    connect(m_channel.get(), &InferenceChannel::nightSimulated, this, [this] {
        if (auto found = m_channel->takeNight(); found && !outdated((*found)->analysis->frame.generation))
            m_render.show(*found);
    });
    connect(&m_render, &RenderWorker::frameRendered, this, [this] {
        if (auto drawn = m_render.takeFrame(); drawn && !outdated(drawn->analysis->frame.generation))
            emit rendered(*drawn);
    });
    connect(&m_render, &RenderWorker::comparisonRendered, this, [this] {
        auto drawn = m_render.takeComparison();
        if (drawn && !outdated(drawn->comparison->analysis->frame.generation)) emit compared(*drawn);
    });
    connect(&m_render, &RenderWorker::nightRendered, this, [this] {
        auto drawn = m_render.takeNight();
        if (drawn && !outdated(drawn->pair->analysis->frame.generation)) emit nightSimulated(*drawn);
    });
    connect(m_network, &SharedNetwork::modelLoading, this, &Engine::modelLoading);
    connect(m_network, &SharedNetwork::modelLoaded, this, &Engine::modelLoaded);
    connect(m_network, &SharedNetwork::modelFailed, this, &Engine::modelFailed);
    connect(m_network, &SharedNetwork::networkFailed, this, &Engine::networkFailed);
    connect(&m_recorder, &Worker::crashed, this, &Engine::crashed);
    connect(&m_render, &Worker::crashed, this, &Engine::crashed);
}

QString freeName(const QString& shown, const std::function<bool(const QString& name)>& isTaken) {
    QString name = shown;
    for (int i = 2; isTaken(name); ++i)
        name = shown + QStringLiteral(" (%1)").arg(i);
    return name;
}

bool othersHave(const QString& name, const pipeline::Address& address,
                const std::vector<std::unique_ptr<Engine>>& all, const Engine& self) {
    return std::any_of(all.begin(), all.end(), [&](const auto& engine) {
        return engine.get() != &self && engine->sourceName() == name &&
               engine->address().reveal() != address.reveal();
    });
}

QString nameFor(const pipeline::Address& address, const std::vector<std::unique_ptr<Engine>>& all,
                const Engine& self) {
    return freeName(safeText(address.shown()),
                    [&](const QString& name) { return othersHave(name, address, all, self); });
}

QString nameOf(const pipeline::Address& address, const QString& key,
               const std::vector<std::unique_ptr<Engine>>& all, const Engine& self) {
    return key.startsWith(safeText(address.shown())) ? key : nameFor(address, all, self);
}

void Engine::openSource(const pipeline::Address& address, const QString& name) {
    if (m_capture != nullptr) {
        // Does not wait for the old worker, because a driver may hang. The worker deletes itself when its
        // thread ends.
        m_capture->disconnect(this);
        connect(m_capture, &QThread::finished, m_capture, &QObject::deleteLater);
        m_capture->stop();
    }
    ++m_generation;
    m_anyPhase = false;
    m_state = pipeline::SourceState::Connecting;
    m_dropped = m_droppedBefore = 0;
    m_skippedImages = 0;
    m_channel->forgetFrames(m_generation);
    m_address = address;
    m_sourceName = name.isEmpty() ? safeText(address.shown()) : name;
    m_title.clear();
    m_report = {};
    m_recorder.setSource(m_sourceName, objectsQuestion());
    // Captures the channel, not `this`, because the capture thread calls this function.
    const auto deliver = [channel = m_channel](const LiveFrame& frame) { channel->submit(frame); };
    m_capture = new CaptureWorker(address, m_sourceName, m_generation, deliver, m_scene);
    m_capture->setParent(this);
    if (m_rule) m_capture->setRule(*m_rule);
    m_capture->setMasks(m_masks);
    connect(m_capture, &CaptureWorker::frameReady, this, &Engine::onFrame);
    connect(m_capture, &CaptureWorker::reported, this, &Engine::onReport);
    connect(m_capture, &Worker::crashed, this, &Engine::crashed);
    m_capture->start();
    setPaused(false);
}

void Engine::setTitle(const QString& title) {
    if (std::exchange(m_title, title) == title || m_report.name.isEmpty()) return;
    m_report.name = this->title();
    emit sourceReported(m_report);
}

void Engine::setRequest(const Request& request) {
    if (request.schedule != m_request.schedule || request.reuse != m_request.reuse)
        m_changedAt = Steady::now();
    m_request = request;
    m_request.knownObjects = m_known;
    m_channel->setRequest(m_request);
    if (!request.keepsImages) m_render.forget();
}

/// Returns a function that asks the store for the objects of earlier runs. If no answer comes within
/// kStorePatience, the engine starts without known objects.
Recorder::Question Engine::objectsQuestion() {
    m_known.reset();
    const QPointer<Engine> self(this);
    const auto take = [self, generation = m_generation](const pipeline::KnownObjects& known) {
        if (self && !self->outdated(generation) && !self->m_known) self->setKnownObjects(known);
    };
    QTimer::singleShot(kStorePatience, this, [take] { take({}); });
    return [take](const pipeline::Store& store, std::int64_t source) {
        QMetaObject::invokeMethod(
            QCoreApplication::instance(), [take, known = store.objects(source)] { take(known); },
            Qt::QueuedConnection);
    };
}

void Engine::setKnownObjects(pipeline::KnownObjects known) {
    m_known = std::make_shared<const pipeline::KnownObjects>(std::move(known));
    if (!m_request.objects.empty()) setRequest(m_request);
}

void Engine::setRule(const pipeline::DayNightRule& rule) {
    m_rule = rule;
    if (m_capture != nullptr) m_capture->setRule(rule);
}

void Engine::setMasks(const std::vector<pipeline::Polygon>& masks) {
    m_masks = masks;
    if (m_capture != nullptr) m_capture->setMasks(masks);
}

void Engine::setPaused(bool paused) {
    m_paused = paused;
    if (m_capture != nullptr) m_capture->setPaused(paused);
}

void Engine::command(const CaptureWorker::Command& command) {
    if (m_capture != nullptr) m_capture->command(command);
}

void Engine::noteEvent(const QString& kind, const QString& text, std::optional<pipeline::Millis> time) {
    const pipeline::Event event{time.value_or(millis(System::now())), kind.toStdString(),
                                printable(text.toStdString())};
    m_recorder.addEvent(event);
    emit happened(event);
}

void Engine::onFrame() {
    if (m_capture == nullptr) return;
    const auto frame = m_capture->takeFrame();
    if (!frame || outdated(frame->generation)) return;
    if (m_anyPhase && frame->phase != m_phase)
        noteEvent(frame->phase == pipeline::Phase::Day ? QStringLiteral("day") : QStringLiteral("night"), {});
    m_phase = frame->phase;
    m_anyPhase = true;
    LiveFrame shown = *frame;
    if (!m_request.keepsImages) {
        shown.pixels.release();
        shown.image = {};
        shown.truth = {};
    }
    emit framed(shown);
}

void Engine::onAnalysis() {
    const auto found = m_channel->takeAnalysis();
    if (!found || outdated((*found)->frame.generation)) return;
    const AnalysisPtr& analysis = *found;
    if (m_watched && !analysis->frame.pixels.empty()) m_render.show(analysis);
    const auto dropped = m_dropped - std::exchange(m_droppedBefore, m_dropped);
    pipeline::Measurement measurement = readingOf(*analysis, m_render.drawMs(), dropped);
    if (!m_saved.stale() && m_saved.isOf(*analysis)) measurement.savedMs = m_saved.savedMs();
    if (!analysis->repeat) m_recorder.add(measurement);
    if (analysis->objects) {
        m_known = std::make_shared<const pipeline::KnownObjects>(
            pipeline::knownFrom(*analysis->objects, analysis->size, analysis->model->ownLabels));
        m_recorder.setObjects(m_known);
    }
    emit measured(measurement, analysis);
}

void Engine::onReport(const SourceReport& report) {
    if (outdated(report.generation)) return;
    m_dropped = report.status.dropped;
    m_kind = report.kind;
    if (report.status.state != m_state && !(m_state == pipeline::SourceState::Connecting && report.current()))
        noteEvent(QStringLiteral("source"), QString::fromLatin1(pipeline::stateName(report.status.state)));
    m_state = report.status.state;
    m_report = report;
    m_report.name = title();
    const std::vector<pipeline::SourceProblem>& problems = report.status.unreadable;
    while (m_skippedImages < problems.size()) {
        const pipeline::SourceProblem& problem = problems[m_skippedImages++];
        noteEvent(QStringLiteral("source"), QString::fromStdString(problem.message()));
        emit imageSkipped(problem);
    }
    emit sourceReported(m_report);
}

}  // namespace mpm::gui
