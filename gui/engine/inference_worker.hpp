// A thread that runs the network on the newest frame of each source, with the source's newest settings. One
// thread and one set of weights serve all sources.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "gui/engine/analyser.hpp"
#include "gui/engine/mailbox.hpp"
#include "gui/engine/worker.hpp"

namespace mpm::gui {

/// The time when a source may use the network. The source that has been due longest runs next, so that fast
/// sources do not delay slow sources.
class Turn {
public:
    using Time = std::chrono::steady_clock::time_point;
    using Pause = std::chrono::milliseconds;

    /// The wait for a new frame after the settings change. If no frame comes in this time, the last frame is
    /// analysed again.
    static constexpr Pause kRepeatAfter{250};
    /// Returned by due() if there is nothing to do.
    static constexpr Time kNever = Time::max();

    /// If the frame replaces a waiting frame, keeps the time of the waiting frame, so that the source keeps
    /// its turn.
    void frameCame(Time now) {
        if (!m_frameSince) m_frameSince = now;
    }
    void frameDropped() { m_frameSince.reset(); }
    void settingsChanged(Time now) { m_changedAt = now; }
    void started(Time now) {
        m_frameSince.reset();
        m_changedAt.reset();
        m_start = now;
    }

    bool settingsHaveChanged() const { return m_changedAt.has_value(); }

    /// Returns the earliest time at which the source may run. `interval`: least time between two starts,
    /// ignored if the settings have changed. `repeats`: whether the last frame may be analysed again.
    Time due(Pause interval, bool repeats) const {
        if (m_frameSince && m_start && !m_changedAt) return std::max(*m_frameSince, *m_start + interval);
        if (m_frameSince) return *m_frameSince;
        return m_changedAt && repeats ? *m_changedAt + kRepeatAfter : kNever;
    }

private:
    std::optional<Time> m_frameSince, m_changedAt, m_start;
};

class InferenceWorker;

/// The connection of a source to the network. Any thread may call the functions, which never wait for the
/// network.
class InferenceChannel : public QObject {
    Q_OBJECT
public:
    void submit(const LiveFrame& frame);
    void setRequest(const Request& request);
    /// Drops all waiting frames. From now on, frames of generations below `generation` are dropped too.
    void forgetFrames(int generation);

    /// Return the newest result for the window; absent if it was already taken.
    std::optional<AnalysisPtr> takeAnalysis() { return m_analyses.take(); }
    std::optional<ComparisonPtr> takeComparison() { return m_comparisons.take(); }
    std::optional<NightPairPtr> takeNight() { return m_nights.take(); }

signals:
    void analysed();
    void compared();
    void nightSimulated();

private:
    friend class InferenceWorker;
    explicit InferenceChannel(InferenceWorker* worker) : m_worker(worker) {}

    InferenceWorker* m_worker;         // must exist as long as the channel is used
    std::optional<LiveFrame> m_frame;  // newest frame, if not analysed yet; guarded by the worker's mutex
    std::optional<LiveFrame> m_last;   // frame analysed last; the mutex also guards m_last to m_generation
    Request m_request;
    Turn m_turn;
    std::int64_t m_skipped = 0;
    int m_generation = 0;
    int m_stream = 0;                     // constant after addChannel()
    Steady::time_point m_lastComparison;  // m_lastComparison, m_follower: used only by the worker's thread
    pipeline::ObjectFollower m_follower;

    Mailbox<AnalysisPtr> m_analyses;
    Mailbox<ComparisonPtr> m_comparisons;
    Mailbox<NightPairPtr> m_nights;
};
using InferenceChannelPtr = std::shared_ptr<InferenceChannel>;

class InferenceWorker : public Worker {
    Q_OBJECT
public:
    InferenceWorker() : Worker("inference") {}
    ~InferenceWorker() override { finish(); }

    InferenceChannelPtr addChannel();
    /// Returns immediately; the result of a run in progress is dropped.
    void removeChannel(const InferenceChannelPtr& channel);
    void setAnalyser(std::unique_ptr<Analyser> analyser);
    /// Must be called after classes of the model in use are renamed.
    void setFacts(const ModelFactsPtr& facts);
    /// If `held`, analyses no frame, so that the processor is free for measurements of time.
    void setHeld(bool held) {
        change([&] { m_held = held; });
    }

signals:
    /// Emitted if the network cannot be used any more. The worker then waits for another network.
    void failed(const QString& message);

protected:
    void work() override;

private:
    friend class InferenceChannel;
    struct Job {
        InferenceChannelPtr channel;
        LiveFrame frame;
        Request request;
        std::int64_t skipped = 0;
        bool repeat = false;
    };
    bool nextJob(Job& job);
    InferenceChannelPtr chooseChannel(Steady::time_point& next) const;
    void fill(Job& job, const InferenceChannelPtr& channel);
    void run(const Job& job);
    bool overtaken(const InferenceChannel& channel);

    std::vector<InferenceChannelPtr> m_channels;  // guarded by m_mutex
    std::unique_ptr<Analyser> m_newAnalyser;      // guarded by m_mutex
    ModelFactsPtr m_newFacts;                     // guarded by m_mutex
    int m_streams = 0;                            // guarded by m_mutex; number of channels added so far
    bool m_held = false;                          // guarded by m_mutex

    std::unique_ptr<Analyser> m_analyser;  // used only by the thread
};

}  // namespace mpm::gui
