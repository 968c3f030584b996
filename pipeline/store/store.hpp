// Stores measurements over weeks in an SQLite file. The schema is documented in docs/reference/store.md.
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

/// How long the store keeps data. Zero means for ever.
struct Retention {
    std::chrono::hours readings{24 * 14};
    std::chrono::hours minutes{24 * 366};
    std::chrono::hours hours{0};
};

class DayNightStatistics;

/// A connection to a file, for a single thread at a time. Other stores may use the same file, in other
/// threads or programs. Every call may throw StoreError.
class Store {
public:
    enum class Span { Minute, Hour };

    /// Whether this connection may change the file after opening; opening may create or migrate the file.
    enum class Access { ReadWrite, ReadOnly };

    /// Opens or creates the file, so that only the owner can read it. Rejects a damaged file, a file with
    /// other tables, and a symbolic link, without changing them.
    explicit Store(const std::string& path, Access access = Access::ReadWrite);
    ~Store();
    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;

    /// Checks every page. Throws StoreError with Kind::Damaged if a page is damaged.
    void check() const;
    /// Returns whether the file was moved, removed or replaced after opening; new readings may then be lost.
    bool moved() const;
    /// Renames a damaged file to FILE.damaged-TIME, or a file of an unreleased version to FILE.old-TIME, so
    /// that a new file can be made. Also renames SQLite's log of the file. Returns the new name; empty if the
    /// file is good. Throws StoreError if the file cannot be opened or renamed.
    static std::string setAside(const std::string& path);

    /// Returns the id of a source, and adds the source if it is new. The name must not contain a password.
    std::int64_t source(const std::string& name);

    std::optional<std::int64_t> findSource(const std::string& name) const;

    /// Adds all measurements, or none if the function throws. The measurements are on the disk when the
    /// function returns.
    void add(std::int64_t source, const std::vector<Measurement>& measurements);
    void addEvent(std::int64_t source, const Event& event);

    /// Returns at most `limit` measurements in [from, to), in order of time.
    std::vector<Measurement> measurements(std::int64_t source, Millis from, Millis to,
                                          std::int64_t limit = -1) const;
    std::vector<Bucket> buckets(std::int64_t source, Span span, Millis from, Millis to) const;
    std::vector<Event> events(std::int64_t source, Millis from, Millis to) const;
    /// Returns the quantity in each span of `step` that has readings, in order of time. For RegionTokens,
    /// uses the readings of all models; for other kinds, only the readings of `model`.
    std::vector<QuantitySpan> quantity(std::int64_t source, const std::string& model,
                                       const Quantity& quantity, Millis from, Millis to,
                                       Millis step = std::chrono::minutes(1)) const;
    /// Stores the objects in view, for the next run of the program. Replaces the objects stored before.
    void setObjects(std::int64_t source, const KnownObjects& objects);
    KnownObjects objects(std::int64_t source) const;
    /// Returns events of all sources, newest first.
    std::vector<StoredEvent> newestEvents(std::int64_t limit) const;
    /// Removes all these events, or none if the function throws. Ignores unknown ids.
    void removeEvents(const std::vector<std::int64_t>& ids);
    /// Adds the readings of a setup in [from, to) to `statistics`, except repetitions of a video.
    void addTo(DayNightStatistics& statistics, std::int64_t source, const Setup& setup, Millis from,
               Millis to) const;
    /// Returns the times of the first and the last reading in [from, to).
    std::optional<std::pair<Millis, Millis>> readingsIn(std::int64_t source, Millis from, Millis to) const;
    /// Returns the readings of a region, in order of time.
    std::vector<std::pair<Millis, RegionReading>> regionReadings(std::int64_t source,
                                                                 const std::string& region, Millis from,
                                                                 Millis to) const;
    std::int64_t count(std::int64_t source) const;

    /// Returns the start of a source's first hour and the end of its last hour; both 0 if the source has no
    /// buckets.
    std::pair<Millis, Millis> extent(std::int64_t source) const;

    /// Returns the end of the latest hour of all sources; nothing if there are no buckets.
    std::optional<Millis> newest() const;

    /// Deletes data that is older than `retention` allows at `now`. Buckets and readings have different
    /// limits, so buckets may remain after their readings are deleted. Deletes at most `most` readings in a
    /// call, so that writers do not wait long. Returns true if there may be more to delete.
    bool apply(const Retention& retention, Millis now, std::int64_t most = INT64_MAX);

    /// Writes the measurements in [from, to) as CSV with a header line, and returns their number. `classes`:
    /// names by id; a class without a name is called class_ID.
    std::int64_t exportCsv(std::ostream& out, std::int64_t source, Millis from, Millis to,
                           const std::vector<std::string>& classes = {}) const;

    /// Writes the measurements as JSON, with the readings of regions and the events.
    std::int64_t exportJson(std::ostream& out, std::int64_t source, Millis from, Millis to,
                            const std::vector<std::string>& classes = {}) const;

    static constexpr int kFirstSchema = 5, kSchema = 7;  ///< schemas of the first release and of this version

private:
    class Database;

    std::vector<std::int64_t> sources() const;
    /// Returns the time of the first reading in [from, to), within the years 0 to 9999.
    std::optional<Millis> firstReading(std::int64_t source, Millis from, Millis to) const;
    std::int64_t region(std::int64_t source, const std::string& name);
    std::vector<int> countedClasses(std::int64_t source, Millis from, Millis to) const;
    std::optional<std::int64_t> findSetup(const Setup& setup) const;
    std::int64_t setupId(const Setup& setup);
    std::unique_ptr<Database> m_database;
};

/// The last columns of a CSV. A column exists if any measurement has a value for it.
struct CsvExtras {
    bool reuse = false;  ///< columns recomputed and token_age
    bool saved = false;  ///< column saved_ms
    bool objects = false;
    std::vector<std::pair<int, std::string>> counted = {};  ///< id and name of each counted class

    bool has(const ReadingField& field) const {
        using When = ReadingField::When;
        return field.when == When::Always || (field.when == When::Reuse      ? reuse
                                              : field.when == When::Compared ? saved
                                                                             : objects);
    }
};

/// csvHead() returns the line of column names, csvLine() returns a line of values, both without a line break.
/// exportCsv() and `mpm run` (tokens.csv) use these functions.
std::string csvHead(int stages, const std::vector<std::string>& classNames, CsvExtras extras = {});
std::string csvLine(const Measurement& measurement, int stages, int classes, CsvExtras extras = {});

/// Returns a value as text, as a whole number if the field is whole.
std::string fieldText(const ReadingField& field, double value);

/// Returns text like 2026-01-31T23:59:59.123Z. If the time is outside the years 0 to 9999, returns the
/// nearest time in these years.
std::string timeText(Millis time);

}  // namespace mpm::pipeline
