#include "gui/engine/recorder.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/pending_file.hpp"
#include "base/private_files.hpp"
#include "gui/text/safe_text.hpp"

#include <QFileInfo>
#include <QMetaMethod>

namespace mpm::gui {

namespace {

constexpr std::chrono::milliseconds kGather{1'000};  // one transaction a second, to spare the SD card
constexpr std::chrono::milliseconds kRetry{5'000};
constexpr std::size_t kMostReadingsWaiting = 20'000;  // 5 hours at 1 Hz; if more wait, the oldest are dropped
constexpr std::chrono::hours kRecent{3};
constexpr std::chrono::seconds kObjectsEvery{10};
constexpr std::chrono::milliseconds kPruneEvery = std::chrono::hours(1);
constexpr int kMostAsides = 5;           // limit on renamed files, which could fill a failing disk
constexpr std::int64_t kPruned = 5'000;  // readings removed in a step
constexpr pipeline::Millis kForever{INT64_MAX};
constexpr pipeline::Millis kSlice = std::chrono::hours(1);  // span of readings compared in a step
constexpr std::chrono::milliseconds kSliceTime{200};  // longest time of a step; then new readings are written

pipeline::Millis now() {
    return std::chrono::duration_cast<pipeline::Millis>(std::chrono::system_clock::now().time_since_epoch());
}

template <typename T>
void prepend(std::vector<T>& to, std::vector<T> from) {
    from.insert(from.end(), std::make_move_iterator(to.begin()), std::make_move_iterator(to.end()));
    to = std::move(from);
}

/// Removes the oldest items beyond the limit. Returns the number removed.
template <typename T>
std::int64_t keepNewest(std::vector<T>& waiting) {
    const std::size_t removed = waiting.size() - std::min(waiting.size(), kMostReadingsWaiting);
    waiting.erase(waiting.begin(), waiting.begin() + std::ptrdiff_t(removed));
    return std::int64_t(removed);
}

}  // namespace

Recorder::Recorder(const QString& path, pipeline::Store::Access access)
    : Worker("recorder"), m_path(path), m_access(access) {
    qRegisterMetaType<HistoryPtr>();
    qRegisterMetaType<StoredComparisonPtr>();
}

template <typename Add>
void Recorder::addSoon(const Add& add) {
    change([&] {
        add();
        m_hurry = true;
    });
}

void Recorder::setSource(const QString& source, Question question) {
    const bool history = isSignalConnected(QMetaMethod::fromSignal(&Recorder::historyLoaded));
    addSoon([&] {
        m_waiting.emplace_back();
        m_waiting.back().source = source;
        m_waiting.back().history = history;
        if (question) m_questions.push_back(std::move(question));
    });
}

void Recorder::add(pipeline::Measurement measurement) {
    if (readOnly()) return;
    const std::lock_guard<std::mutex> lock(m_mutex);
    auto& measurements = m_waiting.back().measurements;
    measurements.push_back(std::move(measurement));
    m_lost += keepNewest(measurements);
}

void Recorder::addEvent(pipeline::Event event) {
    if (readOnly()) return;
    const std::lock_guard<std::mutex> lock(m_mutex);
    auto& events = m_waiting.back().events;
    events.push_back(std::move(event));
    m_lost += keepNewest(events);
}

void Recorder::loadHistory() {
    addSoon([&] { m_waiting.back().history = true; });
}

void Recorder::compare(const pipeline::Setup& setup, pipeline::Millis from) {
    addSoon([&] { m_compareWanted = Comparing{setup, from, {}, std::make_shared<StoredComparison>()}; });
}

void Recorder::ask(Question question) {
    addSoon([&] { m_questions.push_back(std::move(question)); });
}

void Recorder::removeEvents(const std::vector<std::int64_t>& ids) {
    if (readOnly()) return;
    addSoon([&] { m_unwanted.insert(m_unwanted.end(), ids.begin(), ids.end()); });
}

void Recorder::setObjects(std::shared_ptr<const pipeline::KnownObjects> objects) {
    if (readOnly()) return;
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_objects[m_waiting.back().source] = std::move(objects);
}

void Recorder::saveObjects() {
    const auto time = std::chrono::steady_clock::now();
    if (time < m_nextObjects && !stopping() && m_asked.empty()) return;  // an answer may need the objects
    decltype(m_objects) saved;
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        saved = std::exchange(m_objects, {});
    }
    if (saved.empty()) return;
    try {
        for (; !saved.empty(); saved.erase(saved.begin()))
            if (const auto& objects = saved.begin()->second)
                m_store->setObjects(m_store->source(saved.begin()->first.toStdString()), *objects);
    } catch (...) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        m_objects.merge(saved);  // for the next attempt; keeps newer objects
        throw;
    }
    m_nextObjects = time + kObjectsEvery;
}

void Recorder::removeUnwanted() {
    std::vector<std::int64_t> ids;
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        ids = m_unwanted;
    }
    if (ids.empty()) return;
    m_store->removeEvents(ids);
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_unwanted.erase(m_unwanted.begin(), m_unwanted.begin() + std::ptrdiff_t(ids.size()));
}

void Recorder::answer() {
    for (const Question& question : std::exchange(m_asked, {})) {
        try {
            if (m_source >= 0) question(*m_store, m_source);
        } catch (const std::exception&) {
            continue;  // the next write reports any fault of the store
        }
    }
}

void Recorder::exportTo(const QString& file, pipeline::Millis from, pipeline::Millis to,
                        const std::vector<std::string>& classes) {
    addSoon([&] { m_waiting.back().wanted = Export{file, from, to, classes}; });
}

std::deque<Recorder::Batch> Recorder::waitForBatches() {
    std::unique_lock<std::mutex> lock(m_mutex);
    m_changed.wait_for(lock, m_failing ? kRetry : kGather, [this] { return stopping() || m_hurry; });
    m_hurry = false;
    std::deque<Batch> batches(1);
    batches.front().source = m_waiting.back().source;
    std::swap(batches, m_waiting);
    m_asked.insert(m_asked.end(), m_questions.begin(), m_questions.end());
    m_questions.clear();
    return batches;
}

void Recorder::putBack(std::deque<Batch> batches) {
    if (batches.empty()) return;  // all batches were written
    const std::lock_guard<std::mutex> lock(m_mutex);
    Batch newest = std::move(m_waiting.front());  // of the same source as the last of `batches`
    m_waiting.pop_front();
    prepend(newest.measurements, std::move(batches.back().measurements));
    prepend(newest.events, std::move(batches.back().events));
    newest.history |= batches.back().history;
    m_lost += keepNewest(newest.measurements) + keepNewest(newest.events);
    if (!newest.wanted) newest.wanted = std::move(batches.back().wanted);
    batches.back() = std::move(newest);
    m_waiting.insert(m_waiting.begin(), std::make_move_iterator(batches.begin()),
                     std::make_move_iterator(batches.end()));
}

void Recorder::work() {
    for (bool last = false; !last;) {
        last = stopping();  // runs once more after the stop request, so that no waiting data are lost
        store(waitForBatches());
    }
    const std::lock_guard<std::mutex> lock(m_mutex);
    for (const Batch& batch : m_waiting)
        m_lost += std::int64_t(batch.measurements.size() + batch.events.size());
}

void Recorder::store(std::deque<Batch> batches) {
    for (bool first = true;; first = false) {
        try {
            return write(batches);
        } catch (const std::exception& error) {
            m_store.reset();  // the next attempt opens the file again; it may have been moved or repaired
            m_source = -1;
            if (!first || !setAside(error)) return fail(std::move(batches), error);
        }
    }
}

void Recorder::write(std::deque<Batch>& batches) {
    open();
    while (!batches.empty()) {
        write(batches.front());
        batches.pop_front();
    }
    removeUnwanted();
    saveObjects();
    answer();
    if (std::exchange(m_historyWanted, false) && m_source >= 0) sendHistory();
    if (!readOnly()) prune();
    beginComparison();
    continueComparison();
    if (std::exchange(m_failing, false)) post([this] { emit recovered(); });
}

void Recorder::fail(std::deque<Batch> batches, const std::exception& error) {
    using Kind = pipeline::StoreError::Kind;
    const auto* store = dynamic_cast<const pipeline::StoreError*>(&error);
    const bool unusable =
        store != nullptr && store->kind() != Kind::Locked && store->kind() != Kind::DiskFull;
    const bool forGood = unusable && !m_everOpened;
    putBack(std::move(batches));
    if (std::exchange(m_failing, true)) return;
    post([this, forGood, message = safeText(error.what(), 1000)] { emit failing(message, forGood); });
}

/// Renames a file that is damaged or that a version before the first release wrote. The next attempt to write
/// begins a new file, so neither old nor new measurements are lost. Returns false for any other error.
bool Recorder::setAside(const std::exception& error) {
    const auto* store = dynamic_cast<const pipeline::StoreError*>(&error);
    using Kind = pipeline::StoreError::Kind;
    if (readOnly() || store == nullptr) return false;
    if (store->kind() != Kind::Damaged && store->kind() != Kind::OlderSchema) return false;
    if (m_asides++ >= kMostAsides) return false;
    try {
        const std::string aside = pipeline::Store::setAside(m_path.toStdString());
        if (aside.empty()) return true;  // another program already replaced the file
        const QString message = tr("%1; it was renamed to %2, and measurements continue in a new file")
                                    .arg(safeText(error.what(), 1000), safeText(aside));
        post([this, message] { emit replaced(message); });
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

void Recorder::open() {
    if (m_store && !m_store->moved()) return;
    m_store.reset();
    m_source = -1;
    makePrivateFolders(QFileInfo(m_path).absolutePath().toStdString());
    m_store = std::make_unique<pipeline::Store>(m_path.toStdString(), m_access);
    m_everOpened = true;
    if (!m_deletionClock) m_deletionClock.emplace(m_store->newest());
}

/// Writes a batch. Removes data from the batch as soon as the data are written, so that a new attempt after a
/// failure does not write the same data again.
void Recorder::write(Batch& batch) {
    if (!batch.source.isEmpty() && (m_source < 0 || batch.source != m_sourceName)) switchTo(batch.source);
    if (m_source >= 0 && !batch.measurements.empty()) m_store->add(m_source, batch.measurements);
    batch.measurements.clear();
    for (; m_source >= 0 && !batch.events.empty(); batch.events.erase(batch.events.begin()))
        m_store->addEvent(m_source, batch.events.front());
    m_historyWanted |= std::exchange(batch.history, false);
    if (batch.wanted) exportNow(*std::exchange(batch.wanted, std::nullopt));
}

/// Removes old readings step by step between writes, so that even millions of old readings do not delay new
/// readings.
void Recorder::prune() {
    const auto time = std::chrono::steady_clock::now();
    if (time < m_nextPruning) return;
    const bool rest = m_deletionClock->trusts(now(), time) && m_store->apply(m_retention, now(), kPruned);
    m_nextPruning = time + (rest ? kGather : kPruneEvery);
}

/// Begins the comparison if compare() was called. Runs after the waiting data are written.
void Recorder::beginComparison() {
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        if (!m_compareWanted) return;
        m_comparing = std::exchange(m_compareWanted, std::nullopt);
    }
    m_comparing->found->setup = m_comparing->setup;
    const auto extent =
        m_source < 0 ? std::nullopt : m_store->readingsIn(m_source, m_comparing->from, kForever);
    m_comparing->next = extent ? extent->first : kForever;
    m_comparing->found->upTo = extent ? extent->second : pipeline::Millis(0);
}

void Recorder::continueComparison() {
    if (!m_comparing) return;
    const auto begun = std::chrono::steady_clock::now();
    const pipeline::Millis end = m_comparing->found->upTo + pipeline::Millis(1);
    while (*m_comparing->next < end && std::chrono::steady_clock::now() - begun < kSliceTime) {
        const pipeline::Millis to = std::min(*m_comparing->next + kSlice, end);
        m_store->addTo(m_comparing->found->statistics, m_source, m_comparing->setup, *m_comparing->next, to);
        const auto rest = m_store->readingsIn(m_source, to, end);  // skips long spans without readings
        m_comparing->next = rest ? rest->first : end;
    }
    if (*m_comparing->next < end) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        m_hurry = true;
        return;
    }
    post([this, found = StoredComparisonPtr(m_comparing->found)] { emit compared(found); });
    m_comparing.reset();
}

void Recorder::switchTo(const QString& source) {
    m_source = readOnly() ? m_store->findSource(source.toStdString()).value_or(-1)
                          : m_store->source(source.toStdString());
    if (source != std::exchange(m_sourceName, source)) m_comparing.reset();
}

void Recorder::sendHistory() {
    auto history = std::make_shared<History>();
    const pipeline::Millis end = now() + kAhead;
    history->readings = m_store->measurements(m_source, now() - kRecent, now() + kRecent);
    history->minutes = m_store->buckets(m_source, pipeline::Store::Span::Minute, pipeline::Millis(0), end);
    history->hours = m_store->buckets(m_source, pipeline::Store::Span::Hour, pipeline::Millis(0), end);
    history->events = m_store->events(m_source, pipeline::Millis(0), end);
    for (pipeline::Event& event : history->events) {  // another program may have written unsafe texts
        event.kind = printable(event.kind, kLongestName);
        event.text = printable(event.text);
    }
    post([this, history] { emit historyLoaded(history); });
}

void Recorder::exportNow(const Export& wanted) {
    try {
        if (m_source < 0) throw std::runtime_error(tr("there are no measurements to export").toStdString());
        PendingFile pending(wanted.file.toStdString());
        std::ofstream out(pending.path());
        if (!out) throw std::runtime_error(tr("the file cannot be written").toStdString());
        const bool json = wanted.file.endsWith(QLatin1String(".json"), Qt::CaseInsensitive);
        const std::int64_t rows =
            json ? m_store->exportJson(out, m_source, wanted.from, wanted.to, wanted.classes)
                 : m_store->exportCsv(out, m_source, wanted.from, wanted.to, wanted.classes);
        out.close();
        pending.keep();
        post([this, file = wanted.file, rows] { emit exported(file, rows); });
    } catch (const std::exception& error) {
        const QString message = safeText(error.what(), 1000);
        post([this, file = wanted.file, message] { emit exportFailed(file, message); });
    }
}

}  // namespace mpm::gui
