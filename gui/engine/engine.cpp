#include "gui/engine/engine.hpp"

namespace mpm::gui {

namespace {

pipeline::Millis millis(System::time_point time) {
    return std::chrono::duration_cast<pipeline::Millis>(time.time_since_epoch());
}

pipeline::Measurement measurementOf(const Analysis& analysis, double drawMs, std::int64_t dropped) {
    pipeline::Measurement m;
    m.time = millis(analysis.frame.time);
    m.frame = analysis.frame.number;
    m.tokensIn = analysis.tokensIn();
    m.stageTokens = analysis.stageTokens();
    m.luminance = analysis.frame.luminance;
    m.phase = analysis.frame.phase;
    m.captureMs = analysis.frame.captureMs;
    m.networkMs = analysis.networkMs();
    m.encoderMs = analysis.merged.encoder.whole;
    m.mergeMs = analysis.merged.encoder.merge;
    m.drawMs = drawMs;
    m.dropped = dropped + analysis.skipped;
    m.classShares = analysis.shares;
    return m;
}

}  // namespace

Engine::Engine(const QString& storePath, QObject* parent) : QObject(parent), m_recorder(storePath) {
    qRegisterMetaType<SourceReport>();
    qRegisterMetaType<ModelFactsPtr>();
    wire();
    m_recorder.start();
    m_render.start();
    m_inference.start();
    m_loader.start();
}

Engine::~Engine() {
    // All are told before one is waited for.
    const QList<CaptureWorker*> captures = findChildren<CaptureWorker*>();
    for (CaptureWorker* capture : captures)
        capture->stop();
    m_loader.stop();
    m_inference.stop();
    m_render.stop();
    for (CaptureWorker* capture : captures)
        capture->finish();
}

void Engine::wire() {
    connect(&m_inference, &InferenceWorker::analysed, this, &Engine::onAnalysis);
    connect(&m_inference, &InferenceWorker::compared, this, [this] {
        if (auto found = m_inference.takeComparison();
            found && !outdated((*found)->analysis->frame.generation))
            m_render.show(*found);
    });
    connect(&m_inference, &InferenceWorker::nightSimulated, this, [this] {
        if (auto found = m_inference.takeNight(); found && !outdated((*found)->analysis->frame.generation))
            m_render.show(*found);
    });
    connect(&m_inference, &InferenceWorker::failed, this, &Engine::networkFailed);
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
    connect(&m_loader, &ModelLoader::loaded, this, &Engine::onModel);
    connect(&m_loader, &ModelLoader::failed, this, &Engine::modelFailed);
}

void Engine::openSource(const QString& source) {
    if (m_capture != nullptr) {
        // Nobody waits for a driver that hangs: the old one ends in its own time.
        m_capture->disconnect(this);
        connect(m_capture, &QThread::finished, m_capture, &QObject::deleteLater);
        m_capture->stop();
    }
    ++m_generation;
    m_anyPhase = false;
    m_state = pipeline::SourceState::Connecting;
    m_dropped = m_droppedBefore = 0;
    m_inference.forgetFrames(m_generation);
    m_recorder.setSource(QString::fromStdString(pipeline::withoutPasswords(source.toStdString())));
    const auto deliver = [this](const LiveFrame& frame) { m_inference.submit(frame); };
    m_capture = new CaptureWorker(source.toStdString(), m_generation, deliver);
    m_capture->setParent(this);
    if (m_rule) m_capture->setRule(*m_rule);
    connect(m_capture, &CaptureWorker::frameReady, this, &Engine::onFrame);
    connect(m_capture, &CaptureWorker::reported, this, &Engine::onReport);
    m_capture->start();
    setPaused(false);
}

void Engine::openModel(const QString& model) {
    emit modelLoading(model);
    m_loader.load(model);
}

void Engine::setRequest(const Request& request) {
    m_request = request;
    m_inference.setRequest(request);
}

void Engine::setRule(const pipeline::DayNightRule& rule) {
    m_rule = rule;
    if (m_capture != nullptr) m_capture->setRule(rule);
}

pipeline::DayNightRule Engine::rule() const {
    return m_rule.value_or(CaptureWorker::ruleFor(m_kind));
}

void Engine::setPaused(bool paused) {
    m_paused = paused;
    if (m_capture != nullptr) m_capture->setPaused(paused);
}

void Engine::noteEvent(const QString& kind, const QString& text) {
    const pipeline::Event event{millis(System::now()), kind.toStdString(), text.toStdString()};
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
    emit framed(*frame);
}

void Engine::onAnalysis() {
    const auto found = m_inference.takeAnalysis();
    if (!found || outdated((*found)->frame.generation)) return;
    const AnalysisPtr& analysis = *found;
    m_render.show(analysis);
    const auto dropped = m_dropped - std::exchange(m_droppedBefore, m_dropped);
    const pipeline::Measurement measurement = measurementOf(*analysis, m_render.drawMs(), dropped);
    if (!analysis->repeat) m_recorder.add(measurement);
    emit measured(measurement, analysis);
}

void Engine::onReport(const SourceReport& report) {
    if (outdated(report.generation)) return;
    m_dropped = report.status.dropped;
    m_kind = report.kind;
    if (report.status.state != m_state && !(m_state == pipeline::SourceState::Connecting && report.current()))
        noteEvent(QStringLiteral("source"), QString::fromLatin1(pipeline::stateName(report.status.state)));
    m_state = report.status.state;
    emit sourceReported(report);
}

void Engine::onModel() {
    auto analyser = m_loader.take();
    if (!analyser) return;
    const ModelFactsPtr facts = (*analyser)->facts();
    m_inference.setAnalyser(std::move(*analyser));
    emit modelLoaded(facts);
}

}  // namespace mpm::gui
