#include "pipeline/store/store.hpp"

#include <algorithm>
#include <climits>

#include "pipeline/store/database.hpp"
#include "pipeline/store/number_list.hpp"

namespace mpm::pipeline {

namespace {

constexpr std::int64_t kMostColumns = 4096;  // each costs a byte in every row
constexpr std::int64_t kMinute = 60'000, kHour = 3'600'000;

std::int64_t spanMs(Store::Span span) {
    return span == Store::Span::Minute ? kMinute : kHour;
}

/// Towards the past, before 1970 too.
std::int64_t floorTo(std::int64_t time, std::int64_t span) {
    const std::int64_t rest = time % span;
    return time - (rest < 0 ? rest + span : rest);
}

constexpr const char* kInsertReading =
    "INSERT INTO reading(source, time, frame, tokens_in, stage_tokens, luminance, night, capture_ms, "
    "network_ms, "
    "encoder_ms, merge_ms, draw_ms, dropped, class_shares, setup, pass, recomputed, token_age, saved_ms) "
    "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

constexpr const char* kUpsertBucket =
    "INSERT INTO bucket VALUES(?1,?2,?3,1,?4,?5,?5*?5,?5,?5,?4*?5,?6,?7, ?8 IS NOT NULL, coalesce(?8, 0), "
    "?9 IS NOT NULL, coalesce(?9, 0)) ON CONFLICT DO UPDATE SET "
    "count = count + 1, nights = nights + ?4, tokens_sum = tokens_sum + ?5, tokens_squares = tokens_squares "
    "+ ?5*?5, "
    "tokens_least = min(tokens_least, ?5), tokens_most = max(tokens_most, ?5), "
    "night_tokens_sum = night_tokens_sum + ?4*?5, luminance_sum = luminance_sum + ?6, latency_sum = "
    "latency_sum + ?7, "
    "ages = ages + (?8 IS NOT NULL), age_sum = age_sum + coalesce(?8, 0), "
    "saves = saves + (?9 IS NOT NULL), saved_sum = saved_sum + coalesce(?9, 0)";

void bindOptional(Statement& statement, int at, const std::optional<double>& value) {
    if (value)
        statement.bind(at, *value);
    else
        statement.bindNull(at);
}

std::optional<double> optionalReal(const Statement& row, int column) {
    return row.isNull(column) ? std::nullopt : std::optional(row.real(column));
}

void insertReading(Statement& insert, std::int64_t source, std::int64_t setup, const Measurement& m) {
    insert.bind(1, source)
        .bind(2, std::int64_t{m.time.count()})
        .bind(3, m.frame)
        .bind(4, std::int64_t{m.tokensIn});
    insert.bind(5, listText(m.stageTokens))
        .bind(6, m.luminance)
        .bind(7, std::int64_t{m.phase == Phase::Night});
    insert.bind(8, m.captureMs)
        .bind(9, m.networkMs)
        .bind(10, m.encoderMs)
        .bind(11, m.mergeMs)
        .bind(12, m.drawMs);
    insert.bind(13, m.dropped).bind(14, listText(m.classShares));
    insert.bind(15, setup).bind(16, std::int64_t{m.pass});
    bindOptional(insert, 17, m.recomputed < 0 ? std::nullopt : std::optional(m.recomputed));
    bindOptional(insert, 18, m.tokenAge);
    bindOptional(insert, 19, m.savedMs);
    insert.run();
}

void addToBucket(Statement& upsert, std::int64_t source, std::int64_t span, const Measurement& m) {
    const double latency = m.captureMs + m.networkMs + m.drawMs;
    upsert.bind(1, source).bind(2, span).bind(3, floorTo(m.time.count(), span));
    upsert.bind(4, std::int64_t{m.phase == Phase::Night}).bind(5, std::int64_t{m.tokensComputed()});
    upsert.bind(6, m.luminance).bind(7, latency);
    bindOptional(upsert, 8, m.tokenAge);
    bindOptional(upsert, 9, m.savedMs);
    upsert.run();
}

/// A value in a file may exceed the type.
int smallNumber(std::int64_t value) {
    return static_cast<int>(std::clamp<std::int64_t>(value, INT_MIN, INT_MAX));
}

Measurement readMeasurement(const Statement& row) {
    Measurement m;
    m.time = Millis(row.integer(0));
    m.frame = row.integer(1);
    m.tokensIn = smallNumber(row.integer(2));
    m.stageTokens = parseList<int>(row.text(3));
    m.luminance = row.real(4);
    m.phase = row.integer(5) != 0 ? Phase::Night : Phase::Day;
    m.captureMs = row.real(6);
    m.networkMs = row.real(7);
    m.encoderMs = row.real(8);
    m.mergeMs = row.real(9);
    m.drawMs = row.real(10);
    m.dropped = row.integer(11);
    m.classShares = parseList<double>(row.text(12));
    m.pass = smallNumber(row.integer(14));
    m.recomputed = optionalReal(row, 15).value_or(-1);
    m.tokenAge = optionalReal(row, 16);
    m.savedMs = optionalReal(row, 17);
    return m;
}

constexpr const char* kSelectReadings =
    "SELECT time, frame, tokens_in, stage_tokens, luminance, night, capture_ms, network_ms, encoder_ms, "
    "merge_ms, "
    "draw_ms, dropped, class_shares, id, pass, recomputed, token_age, saved_ms FROM reading WHERE source = ? "
    "AND time >= ? AND time < ? ORDER BY time, id LIMIT ?";

std::vector<RegionReading> readRegions(Statement& rows) {
    std::vector<RegionReading> found;
    while (rows.step())
        found.push_back({rows.text(0), smallNumber(rows.integer(1)), smallNumber(rows.integer(2)),
                         parseList<double>(rows.text(3))});
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
    b.tokensLeast = smallNumber(row.integer(5));
    b.tokensMost = smallNumber(row.integer(6));
    b.dayTokens = count > nights ? (row.real(3) - row.real(7)) / (count - nights) : 0;
    b.nightTokens = nights > 0 ? row.real(7) / nights : 0;
    b.luminance = row.real(8) / count;
    b.latencyMs = row.real(9) / count;
    b.ages = row.integer(10);
    b.tokenAge = b.ages > 0 ? row.real(11) / static_cast<double>(b.ages) : 0;
    b.saves = row.integer(12);
    b.savedMs = b.saves > 0 ? row.real(13) / static_cast<double>(b.saves) : 0;
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
    m_database->prepare("INSERT INTO source(name) VALUES(?) ON CONFLICT DO NOTHING").bind(1, name).run();
    return findSource(name).value();
}

std::optional<std::int64_t> Store::findSource(const std::string& name) const {
    Statement find = m_database->prepare("SELECT id FROM source WHERE name = ?");
    return find.bind(1, name).step() ? std::optional(find.integer(0)) : std::nullopt;
}

void Store::add(std::int64_t source, const std::vector<Measurement>& measurements) {
    Database::Transaction transaction(*m_database);
    Statement insert = m_database->prepare(kInsertReading);
    Statement upsert = m_database->prepare(kUpsertBucket);
    Statement insertRegion = m_database->prepare("INSERT INTO region_reading VALUES(?,?,?,?,?)");
    const Measurement* before = nullptr;
    std::int64_t setup = -1;
    for (const Measurement& measurement : measurements) {
        if (before == nullptr || !(before->setup == measurement.setup)) setup = setupId(measurement.setup);
        before = &measurement;
        insertReading(insert, source, setup, measurement);
        const std::int64_t reading = m_database->lastId();
        for (const RegionReading& held : measurement.regions) {
            insertRegion.bind(1, reading).bind(2, region(source, held.name));
            insertRegion.bind(3, std::int64_t{held.patches}).bind(4, std::int64_t{held.tokens});
            insertRegion.bind(5, listText(held.classShares)).run();
        }
        addToBucket(upsert, source, kMinute, measurement);
        addToBucket(upsert, source, kHour, measurement);
    }
    transaction.commit();
}

std::int64_t Store::region(std::int64_t source, const std::string& name) {
    const auto find = [&]() -> std::int64_t {
        Statement row = m_database->prepare("SELECT id FROM region WHERE source = ? AND name = ?");
        return row.bind(1, source).bind(2, name).step() ? row.integer(0) : -1;
    };
    if (const std::int64_t id = find(); id >= 0) return id;
    m_database->prepare("INSERT INTO region(source, name) VALUES(?,?)").bind(1, source).bind(2, name).run();
    return find();
}

void Store::addEvent(std::int64_t source, const Event& event) {
    Statement insert = m_database->prepare("INSERT INTO event(source, time, kind, text) VALUES(?,?,?,?)");
    insert.bind(1, source)
        .bind(2, std::int64_t{event.time.count()})
        .bind(3, event.kind)
        .bind(4, event.text)
        .run();
}

std::vector<Measurement> Store::measurements(std::int64_t source, Millis from, Millis to,
                                             std::int64_t limit) const {
    Statement rows = m_database->prepare(kSelectReadings);
    rows.bind(1, source).bind(2, std::int64_t{from.count()}).bind(3, std::int64_t{to.count()}).bind(4, limit);
    std::vector<Measurement> found;
    Statement regions = m_database->prepare(
        "SELECT name, patches, tokens, class_shares FROM region_reading JOIN region ON region.id = region "
        "WHERE reading = ? ORDER BY region");
    while (rows.step()) {
        found.push_back(readMeasurement(rows));
        found.back().regions = readRegions(regions.bind(1, rows.integer(13)));
    }
    return found;
}

std::vector<Bucket> Store::buckets(std::int64_t source, Span span, Millis from, Millis to) const {
    Statement rows = m_database->prepare(
        "SELECT time, count, nights, tokens_sum, tokens_squares, tokens_least, tokens_most, "
        "night_tokens_sum, "
        "luminance_sum, latency_sum, ages, age_sum, saves, saved_sum FROM bucket WHERE source = ? AND span = "
        "? AND time >= ? AND time < ? ORDER BY time");
    rows.bind(1, source)
        .bind(2, spanMs(span))
        .bind(3, std::int64_t{from.count()})
        .bind(4, std::int64_t{to.count()});
    std::vector<Bucket> found;
    while (rows.step())
        found.push_back(readBucket(rows));
    return found;
}

std::vector<Event> Store::events(std::int64_t source, Millis from, Millis to) const {
    Statement rows = m_database->prepare(
        "SELECT time, kind, text FROM event WHERE source = ? AND time >= ? AND time < ? ORDER BY time, id");
    rows.bind(1, source).bind(2, std::int64_t{from.count()}).bind(3, std::int64_t{to.count()});
    std::vector<Event> found;
    while (rows.step())
        found.push_back({Millis(rows.integer(0)), rows.text(1), rows.text(2)});
    return found;
}

std::vector<std::pair<Millis, RegionReading>> Store::regionReadings(std::int64_t source,
                                                                    const std::string& region, Millis from,
                                                                    Millis to) const {
    Statement rows = m_database->prepare(
        "SELECT time, patches, tokens, region_reading.class_shares FROM reading JOIN region_reading ON "
        "reading.id = reading JOIN region ON region.id = region WHERE reading.source = ? AND time >= ? AND "
        "time < ? AND name = ? ORDER BY time, reading.id");
    rows.bind(1, source)
        .bind(2, std::int64_t{from.count()})
        .bind(3, std::int64_t{to.count()})
        .bind(4, region);
    std::vector<std::pair<Millis, RegionReading>> found;
    while (rows.step())
        found.emplace_back(Millis(rows.integer(0)),
                           RegionReading{region, smallNumber(rows.integer(1)), smallNumber(rows.integer(2)),
                                         parseList<double>(rows.text(3))});
    return found;
}

std::optional<Millis> Store::firstReading(std::int64_t source, Millis from, Millis to) const {
    Statement rows =
        m_database->prepare("SELECT min(time) FROM reading WHERE source = ? AND time >= ? AND time < ?");
    rows.bind(1, source).bind(2, std::int64_t{std::max(from, kFirstTime).count()});
    rows.bind(3, std::int64_t{std::min(to, kLastTime).count()}).step();
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
    Statement rows = m_database->prepare("SELECT count(*) FROM reading WHERE source = ?");
    rows.bind(1, source).step();
    return rows.integer(0);
}

std::pair<Millis, Millis> Store::extent(std::int64_t source) const {
    Statement rows = m_database->prepare(
        "SELECT coalesce(min(time), 0), coalesce(max(time) + ?2, 0) FROM bucket WHERE source = ?1 AND span = "
        "?2");
    rows.bind(1, source).bind(2, kHour).step();
    return {Millis(rows.integer(0)), Millis(rows.integer(1))};
}

bool Store::apply(const Retention& retention, Millis now, std::int64_t most) {
    const auto oldest = [&](std::chrono::hours kept) { return std::int64_t{(now - kept).count()}; };
    std::int64_t left = most;
    Database::Transaction transaction(*m_database);
    if (retention.readings.count() > 0) {
        // Source by source: the index over time begins with the source.
        Statement remove = m_database->prepare(
            "DELETE FROM reading WHERE id IN (SELECT id FROM reading WHERE source = ? AND time < ? LIMIT ?)");
        for (const std::int64_t source : sources()) {
            remove.bind(1, source).bind(2, oldest(retention.readings)).bind(3, left).run();
            left -= m_database->changes();
        }
    }
    const auto forget = [&](std::int64_t span, std::chrono::hours kept) {
        if (kept.count() == 0) return;
        m_database->prepare("DELETE FROM bucket WHERE span = ? AND time < ?")
            .bind(1, span)
            .bind(2, oldest(kept))
            .run();
    };
    forget(kMinute, retention.minutes);
    forget(kHour, retention.hours);
    transaction.commit();
    return left <= 0;
}

std::int64_t Store::exportCsv(std::ostream& out, std::int64_t source, Millis from, Millis to,
                              const std::vector<std::string>& classes) const {
    // Schedules change while measuring: the widest row decides how many columns there are. Lists that an
    // older program spoilt with decimal commas are not always JSON, and must not block the others.
    Statement widest = m_database->prepare(
        "SELECT coalesce(max(CASE WHEN json_valid(stage_tokens) THEN json_array_length(stage_tokens) END), "
        "0), "
        "coalesce(max(CASE WHEN json_valid(class_shares) THEN json_array_length(class_shares) END), 0), "
        "count(recomputed) > 0, count(saved_ms) > 0 FROM reading WHERE source = ? AND time >= ? AND time < "
        "?");
    widest.bind(1, source).bind(2, std::int64_t{from.count()}).bind(3, std::int64_t{to.count()}).step();
    const auto columns = [&](int column) {
        return static_cast<int>(std::min(widest.integer(column), kMostColumns));
    };
    const int stages = columns(0), shares = columns(1);
    const CsvExtras extras{widest.integer(2) != 0, widest.integer(3) != 0};
    std::vector<std::string> names;
    for (int id = 0; id < shares; ++id)
        names.push_back(id < static_cast<int>(classes.size()) ? classes[static_cast<std::size_t>(id)]
                                                              : "class_" + std::to_string(id));
    out << csvHead(stages, names, extras) << '\n';
    Statement rows = m_database->prepare(kSelectReadings);
    rows.bind(1, source).bind(2, std::int64_t{from.count()}).bind(3, std::int64_t{to.count()});
    rows.bind(4, std::int64_t{-1});
    std::int64_t written = 0;
    for (; rows.step(); ++written)
        out << csvLine(readMeasurement(rows), stages, shares, extras) << '\n';
    if (!out.flush())
        throw StoreError(StoreError::Kind::DiskFull, "the CSV could not be written: is the disk full?");
    return written;
}

}  // namespace mpm::pipeline
