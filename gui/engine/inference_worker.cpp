#include "gui/engine/inference_worker.hpp"

#include <algorithm>
#include <exception>

#include "gui/text/safe_text.hpp"

namespace mpm::gui {

namespace {

constexpr int kStreams = 60;  // number of streams for sources; the analyser uses two more

}  // namespace

void InferenceChannel::submit(const LiveFrame& frame) {
    const std::lock_guard<std::mutex> lock(m_worker->m_mutex);
    if (frame.generation < m_generation) return;
    if (m_frame) ++m_skipped;
    m_frame = frame;
    m_turn.frameCame(Steady::now());
    m_worker->m_changed.notify_all();
}

void InferenceChannel::setRequest(const Request& request) {
    const std::lock_guard<std::mutex> lock(m_worker->m_mutex);
    m_request = request;
    m_turn.settingsChanged(Steady::now());
    if (!request.keepsImages) m_last.reset();
    m_worker->m_changed.notify_all();
}

void InferenceChannel::forgetFrames(int generation) {
    const std::lock_guard<std::mutex> lock(m_worker->m_mutex);
    m_generation = generation;
    m_frame.reset();
    m_turn.frameDropped();
    m_last.reset();
    m_skipped = 0;
}

InferenceChannelPtr InferenceWorker::addChannel() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_channels.emplace_back(new InferenceChannel(this));
    m_channels.back()->m_stream = m_streams++ % kStreams;
    return m_channels.back();
}

void InferenceWorker::removeChannel(const InferenceChannelPtr& channel) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_channels.erase(std::remove(m_channels.begin(), m_channels.end(), channel), m_channels.end());
}

void InferenceWorker::setAnalyser(std::unique_ptr<Analyser> analyser) {
    change([&] {
        m_newAnalyser = std::move(analyser);
        m_newFacts.reset();
        for (const InferenceChannelPtr& channel : m_channels)
            channel->m_turn.settingsChanged(Steady::now());
    });
}

void InferenceWorker::setFacts(const ModelFactsPtr& facts) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_newFacts = facts;
}

/// Returns the channel of the source that has been due longest. If none is due, returns null, and `next`
/// becomes the time of the next check.
InferenceChannelPtr InferenceWorker::chooseChannel(Steady::time_point& next) const {
    InferenceChannelPtr chosen;
    for (const InferenceChannelPtr& channel : m_channels) {
        const Steady::time_point due =
            channel->m_turn.due(channel->m_request.interval, channel->m_last.has_value());
        if (due >= next) continue;
        next = due;
        chosen = channel;
    }
    return next <= Steady::now() ? chosen : nullptr;
}

void InferenceWorker::fill(Job& job, const InferenceChannelPtr& channel) {
    job.channel = channel;
    job.repeat = !channel->m_frame;
    job.frame = job.repeat ? *channel->m_last : *std::exchange(channel->m_frame, std::nullopt);
    job.frame.stream = channel->m_stream;
    job.request = channel->m_request;
    job.skipped = job.repeat ? 0 : std::exchange(channel->m_skipped, 0);
    channel->m_turn.started(Steady::now());
    if (job.request.keepsImages && !job.repeat) channel->m_last = job.frame;
}

/// Waits for a job. Returns false if the thread must stop.
bool InferenceWorker::nextJob(Job& job) {
    std::unique_lock<std::mutex> lock(m_mutex);
    while (!stopping()) {
        if (m_newAnalyser) m_analyser = std::move(m_newAnalyser);
        if (m_analyser && m_newFacts) m_analyser->setFacts(std::exchange(m_newFacts, nullptr));
        Steady::time_point next = Steady::time_point::max();
        if (m_analyser && !m_held) {
            if (const InferenceChannelPtr channel = chooseChannel(next)) {
                fill(job, channel);
                return true;
            }
        }
        if (next == Steady::time_point::max())
            m_changed.wait(lock);
        else
            m_changed.wait_until(lock, next);
    }
    return false;
}

void InferenceWorker::work() {
    for (Job job; nextJob(job); job = {}) {
        if (job.frame.pixels.empty()) continue;
        try {
            run(job);
        } catch (const std::exception& error) {
            m_analyser.reset();
            post([this, message = safeLines(error.what())] { emit failed(message); });
        }
    }
}

/// Returns whether further runs of the current frame (a comparison, a simulated night) would be stale.
bool InferenceWorker::overtaken(const InferenceChannel& channel) {
    const std::lock_guard<std::mutex> lock(m_mutex);
    return stopping() || m_newAnalyser != nullptr || channel.m_turn.settingsHaveChanged();
}

void InferenceWorker::run(const Job& job) {
    InferenceChannel& channel = *job.channel;
    Analysis fresh = m_analyser->analyse(job.frame, job.request, &channel.m_follower);
    fresh.skipped = job.skipped;
    fresh.repeat = job.repeat;
    const auto analysis = std::make_shared<Analysis>(std::move(fresh));
    const auto missed = [&](const AnalysisPtr& before) {
        if (before->frame.generation == analysis->frame.generation && before->objects && analysis->objects)
            analysis->objects = pipeline::withDepartures(*before->objects, analysis->objects);
    };
    if (channel.m_analyses.put(analysis, missed)) emit channel.analysed();
    if (!job.request.keepsImages) return;
    const bool due = Steady::now() - channel.m_lastComparison >= job.request.compareInterval || job.repeat;
    if (job.request.compare && due && !overtaken(channel)) {
        channel.m_lastComparison = Steady::now();
        Comparison comparison = m_analyser->compare(analysis, job.request.compareWith);
        if (channel.m_comparisons.put(std::make_shared<const Comparison>(std::move(comparison))))
            emit channel.compared();
    }
    if (job.request.simulateNight && !overtaken(channel)) {
        NightPair night = m_analyser->simulateNight(analysis, job.request.night);
        if (channel.m_nights.put(std::make_shared<const NightPair>(std::move(night))))
            emit channel.nightSimulated();
    }
}

}  // namespace mpm::gui
