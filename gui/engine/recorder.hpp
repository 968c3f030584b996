// A thread that writes measurements to the store, loads the history, and exports. No other thread uses the
// store.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gui/engine/deletion_clock.hpp"
#include "gui/engine/worker.hpp"
#include "pipeline/store/day_night_statistics.hpp"

namespace mpm::gui {

/// Readings whose time is ahead of the clock by more than kAhead are not shown. A stored time may be ahead of
/// the clock because the clock was wrong when the reading was stored, or is wrong now.
constexpr std::chrono::hours kAhead{14 * 24};

/// The stored measurements and events of a source.
struct History {
    std::vector<pipeline::Measurement> readings;  ///< of the last hours
    std::vector<pipeline::Bucket> minutes, hours;
    std::vector<pipeline::Event> events;
};
using HistoryPtr = std::shared_ptr<const History>;

/// A comparison of day and night over the stored readings of a setup.
struct StoredComparison {
    pipeline::Setup setup;
    pipeline::Millis upTo{0};  ///< time of the last reading compared
    pipeline::DayNightStatistics statistics;
};
using StoredComparisonPtr = std::shared_ptr<const StoredComparison>;

class Recorder : public Worker {
    Q_OBJECT
public:
    /// If `access` is ReadOnly, writes nothing to the store: add(), addEvent(), setObjects() and
    /// removeEvents() do nothing.
    explicit Recorder(const QString& path,
                      pipeline::Store::Access access = pipeline::Store::Access::ReadWrite);
    /// Writes all waiting data, then ends the thread.
    ~Recorder() override { finish(); }

    using Question = std::function<void(const pipeline::Store& store, std::int64_t source)>;

    /// All functions return immediately. `source` must not contain a password. Emits historyLoaded() if a
    /// receiver is connected. `question`: as in ask(), but answered before the history, which may take
    /// seconds to load.
    void setSource(const QString& source, Question question = {});
    void add(pipeline::Measurement measurement);
    void addEvent(pipeline::Event event);
    /// Sets the source's known objects. The objects are written every ten seconds, before each question is
    /// answered, and when the recorder ends.
    void setObjects(std::shared_ptr<const pipeline::KnownObjects> objects);
    /// Exports as JSON if the file's name ends in .json, otherwise as CSV. `classes`: names by id.
    void exportTo(const QString& file, pipeline::Millis from, pipeline::Millis to,
                  const std::vector<std::string>& classes = {});
    /// Emits historyLoaded() with a history that includes everything added before.
    void loadHistory();

    /// Compares day and night over the readings of `setup` since `from`, then emits compared(). A later call
    /// replaces a comparison in progress.
    void compare(const pipeline::Setup& setup, pipeline::Millis from);

    /// Calls `question` once in the recorder's thread, after everything that was added earlier is written.
    /// The argument `source` of `question` is the id of the recorder's source.
    void ask(Question question);
    /// Removes the events as soon as the store can be used. A read-only recorder removes nothing.
    void removeEvents(const std::vector<std::int64_t>& ids);

    QString path() const { return m_path; }
    bool readOnly() const { return m_access == pipeline::Store::Access::ReadOnly; }
    /// Returns how many measurements and events were never written; final once the thread has ended.
    std::int64_t lost() const { return m_lost; }

signals:
    void historyLoaded(const std::shared_ptr<const mpm::gui::History>& history);
    void compared(const std::shared_ptr<const mpm::gui::StoredComparison>& comparison);
    void exported(const QString& file, qint64 rows);
    void exportFailed(const QString& file, const QString& message);
    /// Emitted if measurements cannot be stored at present; they wait in memory for the next attempt.
    /// `forGood`: waiting will not help, because the file was never usable.
    void failing(const QString& message, bool forGood);
    void recovered();
    /// Emitted after a damaged or too old file was renamed. Measurements continue in a new file.
    void replaced(const QString& message);

protected:
    void work() override;

private:
    struct Export {
        QString file;
        pipeline::Millis from, to;
        std::vector<std::string> classes;
    };
    /// Waiting work for a source.
    struct Batch {
        QString source;
        std::vector<pipeline::Measurement> measurements;
        std::vector<pipeline::Event> events;
        std::optional<Export> wanted;
        bool history = false;  ///< whether to load the history when all of the above is written
    };
    /// Adds work and wakes the thread, which otherwise looks for new work only once a second.
    template <typename Add>
    void addSoon(const Add& add);
    std::deque<Batch> waitForBatches();
    void putBack(std::deque<Batch> batches);
    void store(std::deque<Batch> batches);
    void write(Batch& batch);
    void write(std::deque<Batch>& batches);
    void fail(std::deque<Batch> batches, const std::exception& error);
    bool setAside(const std::exception& error);
    void open();
    void switchTo(const QString& source);
    void sendHistory();
    void exportNow(const Export& wanted);
    void prune();
    void answer();
    void removeUnwanted();
    void saveObjects();
    void beginComparison();
    void continueComparison();

    const QString m_path;
    const pipeline::Store::Access m_access;
    std::deque<Batch> m_waiting{1};     // guarded by m_mutex; never empty: new work goes into the last batch
    bool m_hurry = false;               // guarded by m_mutex
    std::vector<Question> m_questions;  // guarded by m_mutex
    std::vector<Question> m_asked;      // used only by the thread: questions to answer after the next write
    std::vector<std::int64_t> m_unwanted;  // guarded by m_mutex: ids of events to remove
    std::map<QString, std::shared_ptr<const pipeline::KnownObjects>> m_objects;  // by source; under m_mutex

    /// A comparison in progress. The thread compares hour by hour between writes, because comparing weeks
    /// of readings takes seconds, and writes must not wait that long.
    struct Comparing {
        pipeline::Setup setup;
        pipeline::Millis from;
        std::optional<pipeline::Millis> next;  ///< time of the next hour; absent: not begun
        std::shared_ptr<StoredComparison> found;
    };
    std::optional<Comparing> m_compareWanted;  // guarded by m_mutex
    std::optional<Comparing> m_comparing;      // used by the thread only

    std::unique_ptr<pipeline::Store> m_store;  // all from here on, except m_lost: used by the thread only
    std::int64_t m_source = -1;
    QString m_sourceName;
    bool m_failing = false, m_everOpened = false, m_historyWanted = false;
    int m_asides = 0;
    std::atomic<std::int64_t> m_lost{0};
    pipeline::Retention m_retention;
    std::optional<DeletionClock> m_deletionClock;
    std::chrono::steady_clock::time_point m_nextPruning, m_nextObjects;
};

}  // namespace mpm::gui
