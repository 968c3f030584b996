// Runs the network on the newest frame, with the newest settings, and on nothing else.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "gui/engine/analyser.hpp"
#include "gui/engine/mailbox.hpp"
#include "gui/engine/worker.hpp"

namespace mpm::gui {

class InferenceWorker : public Worker {
    Q_OBJECT
public:
    explicit InferenceWorker(QObject* parent = nullptr);
    ~InferenceWorker() override;

    /// Any thread; never waits for the network.
    void submit(const LiveFrame& frame);
    void setRequest(const Request& request);
    void setAnalyser(std::unique_ptr<Analyser> analyser);
    /// Frames of sources before this generation are not analysed any more.
    void forgetFrames(int generation);

    /// Of the window: the newest of each that it has not seen.
    std::optional<AnalysisPtr> takeAnalysis() { return m_analyses.take(); }
    std::optional<ComparisonPtr> takeComparison() { return m_comparisons.take(); }
    std::optional<NightPairPtr> takeNight() { return m_nights.take(); }

signals:
    void analysed();
    void compared();
    void nightSimulated();
    /// The network cannot be used on; the worker goes on and waits for another one.
    void failed(const QString& message);

protected:
    void work() override;
    void wake() override;

private:
    struct Job {
        LiveFrame frame;
        Request request;
        std::int64_t skipped = 0;
        bool repeat = false;
    };
    bool nextJob(Job& job);
    bool due() const;
    void run(const Job& job);
    bool overtaken();

    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    std::optional<LiveFrame> m_frame;  // newest, not analysed yet
    std::optional<LiveFrame> m_last;   // analysed; again when settings change and no frame comes
    std::unique_ptr<Analyser> m_newAnalyser;
    Request m_request;
    bool m_requestChanged = false;
    std::int64_t m_skipped = 0;
    int m_generation = 0;
    Steady::time_point m_lastStart;
    Steady::time_point m_lastComparison;  // of the thread alone

    std::unique_ptr<Analyser> m_analyser;  // of the thread alone
    Mailbox<AnalysisPtr> m_analyses;
    Mailbox<ComparisonPtr> m_comparisons;
    Mailbox<NightPairPtr> m_nights;
};

}  // namespace mpm::gui
