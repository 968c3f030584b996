#include "gui/engine/inference_worker.hpp"

#include <exception>

namespace mpm::gui {

namespace {

/// How long a changed setting waits for a new frame before the last one is analysed again.
constexpr std::chrono::milliseconds kRepeatAfter{250};

}  // namespace

InferenceWorker::InferenceWorker(QObject* parent) : Worker("inference", parent) {}

InferenceWorker::~InferenceWorker() {
    finish();
}

void InferenceWorker::submit(const LiveFrame& frame) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    if (frame.generation < m_generation) return;
    if (m_frame) ++m_skipped;
    m_frame = frame;
    m_changed.notify_all();
}

void InferenceWorker::setRequest(const Request& request) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_request = request;
    m_requestChanged = true;
    m_changed.notify_all();
}

void InferenceWorker::setAnalyser(std::unique_ptr<Analyser> analyser) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_newAnalyser = std::move(analyser);
    m_requestChanged = true;
    m_changed.notify_all();
}

void InferenceWorker::forgetFrames(int generation) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_generation = generation;
    m_frame.reset();
    m_last.reset();
    m_skipped = 0;
}

void InferenceWorker::wake() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_changed.notify_all();
}

bool InferenceWorker::due() const {
    return m_frame && (m_requestChanged || Steady::now() - m_lastStart >= m_request.interval);
}

/// Waits for something to do. False: stopping.
bool InferenceWorker::nextJob(Job& job) {
    std::unique_lock<std::mutex> lock(m_mutex);
    const auto idle = [this] { return !stopping() && !m_newAnalyser && (!m_analyser || !due()); };
    while (idle()) {
        if (m_analyser && m_requestChanged && m_last && !m_frame) {
            if (!m_changed.wait_for(lock, kRepeatAfter, [&] { return !idle(); })) break;
        } else if (m_frame && m_analyser) {
            m_changed.wait_until(lock, m_lastStart + m_request.interval);
        } else {
            m_changed.wait(lock);
        }
    }
    if (stopping()) return false;
    if (m_newAnalyser) m_analyser = std::move(m_newAnalyser);
    if (!m_frame && !m_last) return true;
    job.repeat = !m_frame;
    job.frame = job.repeat ? *m_last : *m_frame;
    job.request = m_request;
    job.skipped = job.repeat ? 0 : std::exchange(m_skipped, 0);
    m_requestChanged = false;
    if (!job.repeat) {
        m_last = std::exchange(m_frame, std::nullopt);
        m_lastStart = Steady::now();
    }
    return true;
}

void InferenceWorker::work() {
    for (Job job; nextJob(job); job = {}) {
        if (job.frame.picture.empty()) continue;
        try {
            run(job);
        } catch (const std::exception& error) {
            m_analyser.reset();
            emit failed(QString::fromUtf8(error.what()));
        }
    }
}

/// Extra runs are left out when they would answer yesterday's question.
bool InferenceWorker::overtaken() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    return stopping() || m_newAnalyser != nullptr || m_requestChanged;
}

void InferenceWorker::run(const Job& job) {
    Analysis fresh = m_analyser->analyse(job.frame, job.request);
    fresh.skipped = job.skipped;
    fresh.repeat = job.repeat;
    const auto analysis = std::make_shared<const Analysis>(std::move(fresh));
    using Put = Mailbox<AnalysisPtr>::Put;
    if (m_analyses.put(analysis) == Put::First) emit analysed();
    const bool due = Steady::now() - m_lastComparison >= job.request.compareInterval || job.repeat;
    if (job.request.compare && due && !overtaken()) {
        m_lastComparison = Steady::now();
        auto comparison = std::make_shared<const Comparison>(m_analyser->compare(analysis));
        if (m_comparisons.put(std::move(comparison)) == Mailbox<ComparisonPtr>::Put::First) emit compared();
    }
    if (job.request.simulateNight && !overtaken()) {
        auto night =
            std::make_shared<const NightPair>(m_analyser->simulateNight(analysis, job.request.night));
        if (m_nights.put(std::move(night)) == Mailbox<NightPairPtr>::Put::First) emit nightSimulated();
    }
}

}  // namespace mpm::gui
