// Measurements over weeks, in SQLite. The schema is documented in docs/reference/store.md.
#pragma once

#include <memory>
#include <ostream>
#include <stdexcept>

#include "pipeline/store/reading.hpp"

namespace mpm::pipeline {

class StoreError : public std::runtime_error {
public:
    enum class Kind { CannotOpen, Damaged, NewerSchema, OlderSchema, Locked, DiskFull, Other };
    StoreError(Kind kind, const std::string& text) : std::runtime_error(text), m_kind(kind) {}
    Kind kind() const { return m_kind; }

private:
    Kind m_kind;
};

/// How long data is kept. Zero: for ever.
struct Retention {
    std::chrono::hours readings{24 * 14};
    std::chrono::hours minutes{24 * 366};
    std::chrono::hours hours{0};
};

class DayNightStatistics;

/// A file, a connection, a thread at a time; several stores may use a file (other threads, other programs).
/// Every call throws StoreError.
class Store {
public:
    enum class Span { Minute, Hour };

    /// Whether this connection may change the file.
    enum class Access { ReadWrite, ReadOnly };

    /// Opens or creates the file, which only the owner may read. Rejects a damaged file, a file with anything
    /// but this program's tables, and a symbolic link, and leaves it as it is.
    explicit Store(const std::string& path, Access access = Access::ReadWrite);
    ~Store();
    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;

    /// Checks every page. Throws StoreError with Kind::Damaged if something is wrong.
    void check() const;
    /// Whether the file was moved, removed or replaced since it was opened: new readings are not in it.
    bool moved() const;
    /// Renames a damaged file to FILE.damaged-TIME, and a file of an unreleased version to FILE.old-TIME,
    /// with the log, so that a new file can be made. Returns the new name, empty if the file turns out to be
    /// good. Throws StoreError if the file cannot be renamed.
    static std::string setAside(const std::string& path);

    /// The id of a source by name (which must hold no password), made when new.
    std::int64_t source(const std::string& name);

    /// The id of a source that is there; absent otherwise.
    std::optional<std::int64_t> findSource(const std::string& name) const;

    /// Adds all or none; they are on the disk when the call returns.
    void add(std::int64_t source, const std::vector<Measurement>& measurements);
    void addEvent(std::int64_t source, const Event& event);

    /// In [from, to), rising in time, at most `limit`.
    std::vector<Measurement> measurements(std::int64_t source, Millis from, Millis to,
                                          std::int64_t limit = -1) const;
    std::vector<Bucket> buckets(std::int64_t source, Span span, Millis from, Millis to) const;
    std::vector<Event> events(std::int64_t source, Millis from, Millis to) const;
    /// Step by step, rising in time; shares of the readings that a model made, tokens of all.
    std::vector<QuantitySpan> quantity(std::int64_t source, const std::string& model,
                                       const Quantity& quantity, Millis from, Millis to,
                                       Millis step = std::chrono::minutes(1)) const;
    /// Objects present, for the next run of the program: in place of those before.
    void setObjects(std::int64_t source, const KnownObjects& objects);
    KnownObjects objects(std::int64_t source) const;
    /// Of every source, newest first.
    std::vector<StoredEvent> newestEvents(std::int64_t limit) const;
    /// All or none; ids that are not there are ignored.
    void removeEvents(const std::vector<std::int64_t>& ids);
    /// Adds the readings in [from, to) of a setup, without the repetitions of a video.
    void addTo(DayNightStatistics& statistics, std::int64_t source, const Setup& setup, Millis from,
               Millis to) const;
    /// The times of the first and the last reading in [from, to).
    std::optional<std::pair<Millis, Millis>> readingsIn(std::int64_t source, Millis from, Millis to) const;
    /// The readings of a region, rising in time.
    std::vector<std::pair<Millis, RegionReading>> regionReadings(std::int64_t source,
                                                                 const std::string& region, Millis from,
                                                                 Millis to) const;
    std::int64_t count(std::int64_t source) const;

    /// First and last time of a source's buckets; equal if there are none.
    std::pair<Millis, Millis> extent(std::int64_t source) const;

    /// Deletes data that is older than allowed at `now`; minutes and hours outlive the readings they were
    /// made from. At most `most` readings go in a call, so that no writer waits long: true if some are left.
    bool apply(const Retention& retention, Millis now, std::int64_t most = INT64_MAX);

    /// The measurements in [from, to) as CSV with a head line; returns how many. `classes`: names by id; a
    /// class without a name is called class_ID.
    std::int64_t exportCsv(std::ostream& out, std::int64_t source, Millis from, Millis to,
                           const std::vector<std::string>& classes = {}) const;

    /// The same as JSON, with the readings of regions and with the events.
    std::int64_t exportJson(std::ostream& out, std::int64_t source, Millis from, Millis to,
                            const std::vector<std::string>& classes = {}) const;

    static constexpr int kFirstSchema = 5, kSchema = 7;  ///< of the first release, of this version

private:
    class Database;

    std::vector<std::int64_t> sources() const;
    /// The time of the first reading in [from, to), and in the years that can be written.
    std::optional<Millis> firstReading(std::int64_t source, Millis from, Millis to) const;
    std::int64_t region(std::int64_t source, const std::string& name);
    std::vector<int> countedClasses(std::int64_t source, Millis from, Millis to) const;
    std::optional<std::int64_t> findSetup(const Setup& setup) const;
    std::int64_t setupId(const Setup& setup);
    std::unique_ptr<Database> m_database;
};

/// Columns that only some measurements have; they are the last columns.
struct CsvExtras {
    bool reuse = false;  ///< recomputed, token_age
    bool saved = false;  ///< saved_ms
    bool objects = false;
    std::vector<std::pair<int, std::string>> counted = {};  ///< id and name of classes of objects

    bool has(const ReadingField& field) const {
        using When = ReadingField::When;
        return field.when == When::Always || (field.when == When::Reuse      ? reuse
                                              : field.when == When::Compared ? saved
                                                                             : objects);
    }
};

/// The columns of exportCsv, and of `mpm run`'s tokens.csv: a line without the line break.
std::string csvHead(int stages, const std::vector<std::string>& classNames, CsvExtras extras = {});
std::string csvLine(const Measurement& measurement, int stages, int classes, CsvExtras extras = {});

/// A value of the field, whole if the field is.
std::string fieldText(const ReadingField& field, double value);

/// 2026-01-31T23:59:59.123Z; times before the year 0 and after 9999 become the nearest time within.
std::string timeText(Millis time);

}  // namespace mpm::pipeline
