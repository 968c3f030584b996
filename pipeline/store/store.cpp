#include "pipeline/store/store.hpp"

#include <algorithm>

#include "pipeline/store/database.hpp"
#include "pipeline/store/number_list.hpp"

namespace mpm::pipeline {

namespace {

constexpr std::int64_t kMostColumns = 4096;  // limited, because each column adds a byte to every row of a CSV
constexpr std::int64_t kMinute = 60'000, kHour = 3'600'000;

std::int64_t spanMs(Store::Span span) {
    return span == Store::Span::Minute ? kMinute : kHour;
}

/// Rounds `time` down to a multiple of `span`, also if `time` is before 1970.
std::int64_t floorTo(std::int64_t time, std::int64_t span) {
    const std::int64_t rest = time % span;
    return time - (rest < 0 ? rest + span : rest);
}

/// Returns the SQL that inserts a reading with the columns of readingFields() and all other columns.
std::string insertReadingSql() {
    std::string names = "source, time, frame, stage_tokens, night, class_shares, setup, object_counts",
                values = "?,?,?,?,?,?,?,?";
    for (const ReadingField& field : readingFields()) {
        if (field.set == nullptr) continue;
        names += std::string(", ") + field.name;
        values += ",?";
    }
    return "INSERT INTO reading(" + names + ") VALUES(" + values + ")";
}

std::string selectReadingsSql() {
    std::string names = "id, time, frame, stage_tokens, night, class_shares, object_counts";
    for (const ReadingField& field : readingFields())
        if (field.set != nullptr) names += std::string(", ") + field.name;
    return "SELECT " + names +
           " FROM reading WHERE source = ? AND time >= ? AND time < ? ORDER BY time, id LIMIT ?";
}

constexpr const char* kBucketColumns =
    "time, count, nights, tokens_sum, tokens_squares, tokens_least, tokens_most, night_tokens_sum";

std::string upsertBucketSql() {
    std::string names = std::string("source, span, ") + kBucketColumns;
    std::string values = "?1,?2,?3,1,?4,?5,?5*?5,?5,?5,?4*?5";
    std::string changes =
        "count = count + 1, nights = nights + ?4, tokens_sum = tokens_sum + ?5, tokens_squares = "
        "tokens_squares + ?5*?5, tokens_least = min(tokens_least, ?5), tokens_most = max(tokens_most, ?5), "
        "night_tokens_sum = night_tokens_sum + ?4*?5";
    int at = 5;
    const auto add = [&](const std::string& column, const std::string& value) {
        names += ", " + column;
        values += "," + value;
        changes += ", " + column + " = " + column + " + " + value;
    };
    for (const ReadingField& field : readingFields()) {
        if (!field.summed.field) continue;
        const std::string parameter = "?" + std::to_string(++at);
        add(field.summed.sum, "coalesce(" + parameter + ", 0)");
        if (field.summed.count != nullptr) add(field.summed.count, "(" + parameter + " IS NOT NULL)");
    }
    return "INSERT INTO bucket(" + names + ") VALUES(" + values + ") ON CONFLICT DO UPDATE SET " + changes;
}

std::string selectBucketsSql() {
    std::string names = kBucketColumns;
    for (const ReadingField& field : readingFields())
        if (field.summed.field)
            names += std::string(", ") + field.summed.sum + ", " +
                     (field.summed.count != nullptr ? field.summed.count : "count");
    return "SELECT " + names +
           " FROM bucket WHERE source = ? AND span = ? AND time >= ? AND time < ? ORDER BY time";
}

void insertReading(Statement& insert, std::int64_t source, std::int64_t setup, const Measurement& m) {
    insert.bind(source, m.time, m.frame, listText(m.stageTokens), m.phase == Phase::Night,
                listText(m.classShares), setup, countsText(m.objectCounts));
    int at = 8;
    for (const ReadingField& field : readingFields())
        if (field.set != nullptr) insert.set(++at, field.get(m));
    insert.run();
}

void addToBucket(Statement& upsert, std::int64_t source, std::int64_t span, const Measurement& m) {
    upsert.bind(source, span, floorTo(m.time.count(), span), m.phase == Phase::Night, m.tokensComputed());
    int at = 5;
    for (const ReadingField& field : readingFields())
        if (field.summed.field) upsert.set(++at, field.get(m));
    upsert.run();
}

Measurement readMeasurement(const Statement& row) {
    Measurement m;
    m.time = Millis(row.integer(1));
    m.frame = row.integer(2);
    m.stageTokens = parseList<int>(row.text(3));
    m.phase = row.integer(4) != 0 ? Phase::Night : Phase::Day;
    m.classShares = parseList<double>(row.text(5));
    m.objectCounts = parseCounts(row.text(6));
    int at = 6;
    for (const ReadingField& field : readingFields())
        if (field.set != nullptr && !row.isNull(++at)) field.set(m, row.real(at));
    return m;
}

std::vector<RegionReading> readRegions(Statement& rows) {
    std::vector<RegionReading> found;
    while (rows.step())
        found.push_back({rows.text(0), rows.small(1), rows.small(2), parseList<double>(rows.text(3)),
                         parseCounts(rows.text(4))});
    rows.reset();
    return found;
}

Bucket readBucket(const Statement& row) {
    Bucket b;
    b.time = Millis(row.integer(0));
    b.count = row.integer(1);
    b.nights = row.integer(2);
    const double count = std::max(1.0, static_cast<double>(b.count)), nights = static_cast<double>(b.nights);
    b.tokensMean = row.real(3) / count;
    b.tokensSquares = row.real(4) / count;
    b.tokensLeast = row.small(5);
    b.tokensMost = row.small(6);
    b.dayTokens = count > nights ? (row.real(3) - row.real(7)) / (count - nights) : 0;
    b.nightTokens = nights > 0 ? row.real(7) / nights : 0;
    int at = 8;
    for (const ReadingField& field : readingFields()) {
        if (!field.summed.field) continue;
        Bucket::Mean& mean = b.of(*field.summed.field);
        mean.count = row.integer(at + 1);
        if (mean.count > 0) mean.mean = row.real(at) / static_cast<double>(mean.count);
        at += 2;
    }
    return b;
}

}  // namespace

Store::Store(const std::string& path, Access access) : m_database(std::make_unique<Database>(path)) {
    if (access == Access::ReadOnly) m_database->execute("PRAGMA query_only = ON");
}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

void Store::check() const {
    Statement rows = m_database->prepare("PRAGMA quick_check(1)");
    if (rows.step() && rows.text(0) == "ok") return;
    throwDamaged(m_database->path(), rows.text(0));
}

std::int64_t Store::source(const std::string& name) {
    if (const auto known = findSource(name)) return *known;
    m_database->run("INSERT INTO source(name) VALUES(?) ON CONFLICT DO NOTHING", name);
    return findSource(name).value();
}

std::optional<std::int64_t> Store::findSource(const std::string& name) const {
    Statement find = m_database->prepare("SELECT id FROM source WHERE name = ?", name);
    return find.step() ? std::optional(find.integer(0)) : std::nullopt;
}

void Store::add(std::int64_t source, const std::vector<Measurement>& measurements) {
    Database::Transaction transaction(*m_database);
    Statement insert = m_database->prepare(insertReadingSql());
    Statement upsert = m_database->prepare(upsertBucketSql());
    // Ignores conflicts: if two regions have the same name, the reading should still be stored.
    Statement insertRegion =
        m_database->prepare("INSERT INTO region_reading VALUES(?,?,?,?,?,?) ON CONFLICT DO NOTHING");
    const Measurement* before = nullptr;
    std::int64_t setup = -1;
    for (const Measurement& measurement : measurements) {
        if (before == nullptr || !(before->setup == measurement.setup)) setup = setupId(measurement.setup);
        before = &measurement;
        insertReading(insert, source, setup, measurement);
        const std::int64_t reading = m_database->lastId();
        for (const RegionReading& held : measurement.regions)
            insertRegion.run(reading, region(source, held.name), held.patches, held.tokens,
                             listText(held.classShares), countsText(held.objects));
        addToBucket(upsert, source, kMinute, measurement);
        addToBucket(upsert, source, kHour, measurement);
    }
    transaction.commit();
}

std::int64_t Store::region(std::int64_t source, const std::string& name) {
    const auto find = [&]() -> std::int64_t {
        Statement row =
            m_database->prepare("SELECT id FROM region WHERE source = ? AND name = ?", source, name);
        return row.step() ? row.integer(0) : -1;
    };
    if (const std::int64_t id = find(); id >= 0) return id;
    m_database->run("INSERT INTO region(source, name) VALUES(?,?)", source, name);
    return find();
}

std::vector<Measurement> Store::measurements(std::int64_t source, Millis from, Millis to,
                                             std::int64_t limit) const {
    Statement rows = m_database->prepare(selectReadingsSql(), source, from, to, limit);
    std::vector<Measurement> found;
    Statement regions = m_database->prepare(
        "SELECT name, patches, tokens, class_shares, object_counts FROM region_reading JOIN region ON "
        "region.id = region WHERE reading = ? ORDER BY region");
    while (rows.step()) {
        found.push_back(readMeasurement(rows));
        found.back().regions = readRegions(regions.bind(rows.integer(0)));
    }
    return found;
}

std::vector<Bucket> Store::buckets(std::int64_t source, Span span, Millis from, Millis to) const {
    Statement rows = m_database->prepare(selectBucketsSql(), source, spanMs(span), from, to);
    std::vector<Bucket> found;
    while (rows.step())
        found.push_back(readBucket(rows));
    return found;
}

std::vector<std::pair<Millis, RegionReading>> Store::regionReadings(std::int64_t source,
                                                                    const std::string& region, Millis from,
                                                                    Millis to) const {
    Statement rows = m_database->prepare(
        "SELECT time, patches, tokens, region_reading.class_shares, region_reading.object_counts FROM "
        "reading JOIN region_reading ON "
        "reading.id = reading JOIN region ON region.id = region WHERE reading.source = ? AND time >= ? AND "
        "time < ? AND name = ? ORDER BY time, reading.id",
        source, from, to, region);
    std::vector<std::pair<Millis, RegionReading>> found;
    while (rows.step())
        found.emplace_back(Millis(rows.integer(0)),
                           RegionReading{region, rows.small(1), rows.small(2),
                                         parseList<double>(rows.text(3)), parseCounts(rows.text(4))});
    return found;
}

std::optional<Millis> Store::firstReading(std::int64_t source, Millis from, Millis to) const {
    Statement rows =
        m_database->prepare("SELECT min(time) FROM reading WHERE source = ? AND time >= ? AND time < ?",
                            source, std::max(from, kFirstTime), std::min(to, kLastTime));
    rows.step();
    return rows.isNull(0) ? std::nullopt : std::optional<Millis>(Millis(rows.integer(0)));
}

std::vector<std::int64_t> Store::sources() const {
    Statement rows = m_database->prepare("SELECT id FROM source");
    std::vector<std::int64_t> found;
    while (rows.step())
        found.push_back(rows.integer(0));
    return found;
}

std::int64_t Store::count(std::int64_t source) const {
    Statement rows = m_database->prepare("SELECT count(*) FROM reading WHERE source = ?", source);
    rows.step();
    return rows.integer(0);
}

std::pair<Millis, Millis> Store::extent(std::int64_t source) const {
    Statement rows = m_database->prepare(
        "SELECT coalesce(min(time), 0), coalesce(max(time) + ?2, 0) FROM bucket WHERE source = ?1 AND span = "
        "?2",
        source, kHour);
    rows.step();
    return {Millis(rows.integer(0)), Millis(rows.integer(1))};
}

std::optional<Millis> Store::newest() const {
    Millis newest{0};
    for (const std::int64_t source : sources())
        newest = std::max(newest, extent(source).second);
    return newest.count() > 0 ? std::optional(newest) : std::nullopt;
}

bool Store::apply(const Retention& retention, Millis now, std::int64_t most) {
    const auto oldest = [&](std::chrono::hours kept) { return now - kept; };
    std::int64_t left = most;
    Database::Transaction transaction(*m_database);
    // Deletes the readings of each source separately, because the index of readings is by source, then by
    // time.
    const std::vector<std::int64_t> all = sources();
    if (retention.readings.count() > 0) {
        Statement remove = m_database->prepare(
            "DELETE FROM reading WHERE id IN (SELECT id FROM reading WHERE source = ? AND time < ? LIMIT ?)");
        for (const std::int64_t source : all) {
            remove.run(source, oldest(retention.readings), left);
            left -= m_database->changes();
        }
    }
    const auto forget = [&](std::int64_t span, std::chrono::hours kept) {
        if (kept.count() == 0 || left <= 0) return;  // keeps buckets for ever, or leaves them to a later call
        Statement remove =
            m_database->prepare("DELETE FROM bucket WHERE source = ? AND span = ? AND time < ?");
        for (const std::int64_t source : all)
            remove.run(source, span, oldest(kept));
    };
    forget(kMinute, retention.minutes);
    forget(kHour, retention.hours);
    transaction.commit();
    return left <= 0;
}

std::int64_t Store::exportCsv(std::ostream& out, std::int64_t source, Millis from, Millis to,
                              const std::vector<std::string>& classes) const {
    // The lists stage_tokens and class_shares may differ in length between readings, for example after a
    // change of the schedule. So the longest list sets the number of columns. Ignores lists that are not
    // valid JSON, because older programs could write decimal commas.
    std::string sql =
        "SELECT coalesce(max(CASE WHEN json_valid(stage_tokens) THEN json_array_length(stage_tokens) END), "
        "0), coalesce(max(CASE WHEN json_valid(class_shares) THEN json_array_length(class_shares) END), 0)";
    for (const ReadingField& field : readingFields())
        if (field.when != ReadingField::When::Always) sql += std::string(", count(") + field.name + ")";
    sql += " FROM reading WHERE source = ? AND time >= ? AND time < ?";
    Statement widest = m_database->prepare(sql, source, from, to);
    widest.step();
    const auto columns = [&](int column) {
        return static_cast<int>(std::min(widest.integer(column), kMostColumns));
    };
    const int stages = columns(0), shares = columns(1);
    CsvExtras extras;
    int at = 2;
    for (const ReadingField& field : readingFields())
        if (field.when != ReadingField::When::Always && widest.integer(at++) > 0)
            (field.when == ReadingField::When::Reuse      ? extras.reuse
             : field.when == ReadingField::When::Compared ? extras.saved
                                                          : extras.objects) = true;
    std::vector<std::string> names;
    for (int id = 0; id < shares; ++id)
        names.push_back(storedName(id, classes));
    if (extras.objects)
        for (const int id : countedClasses(source, from, to))
            extras.counted.emplace_back(id, storedName(id, classes));
    out << csvHead(stages, names, extras) << '\n';
    Statement rows = m_database->prepare(selectReadingsSql(), source, from, to, -1);
    std::int64_t written = 0;
    for (; rows.step(); ++written)
        out << csvLine(readMeasurement(rows), stages, shares, extras) << '\n';
    if (!out.flush())
        throw StoreError(StoreError::Kind::DiskFull, "the CSV could not be written: is the disk full?");
    return written;
}

}  // namespace mpm::pipeline
