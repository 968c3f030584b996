#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/number.hpp"
#include "base/row_file.hpp"
#include "pipeline/store/database.hpp"

namespace mpm::pipeline {

namespace {

/// Quotes a column's name like csvField(), but leaves a name with spaces unquoted if nothing else requires
/// quotes: earlier versions did not quote such names, and the names must stay the same.
std::string columnName(const std::string& name) {
    const bool plain = printable(name) == name && name.find_first_of(",;\"'\\") == std::string::npos;
    return plain ? name : csvField(name);
}

}  // namespace

std::string timeText(Millis time) {
    time = std::clamp(time, kFirstTime, kLastTime);
    std::int64_t milliseconds = time.count() % 1000;
    if (milliseconds < 0) milliseconds += 1000;
    const std::time_t seconds = static_cast<std::time_t>((time.count() - milliseconds) / 1000);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    char day[40], text[48];
    std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
    std::snprintf(text, sizeof text, "%s.%03dZ", day, static_cast<int>(milliseconds));
    return text;
}

std::string fieldText(const ReadingField& field, double value) {
    return field.whole ? std::to_string(static_cast<std::int64_t>(value)) : numberText(value);
}

std::string csvHead(int stages, const std::vector<std::string>& classNames, CsvExtras extras) {
    std::string head = "time,frame,phase", sometimes;
    for (const ReadingField& field : readingFields()) {
        if (!field.csv || !extras.has(field)) continue;
        (field.when == ReadingField::When::Always ? head : sometimes) += "," + std::string(field.name);
        if (field.name != std::string("tokens_in")) continue;
        for (int stage = 0; stage < stages; ++stage)
            head += ",tokens_stage_" + std::to_string(stage + 1);
    }
    for (const std::string& name : classNames)
        head += "," + columnName("share " + name);
    for (const auto& [id, name] : extras.counted)
        sometimes += "," + columnName("objects " + name);
    return head + sometimes;
}

std::string csvLine(const Measurement& m, int stages, int classes, CsvExtras extras) {
    std::string sometimes, line = timeText(m.time) + "," + std::to_string(m.frame) +
                                  (m.phase == Phase::Night ? ",night" : ",day");
    for (const ReadingField& field : readingFields()) {
        if (!field.csv || !extras.has(field)) continue;
        const auto value = field.get(m);
        (field.when == ReadingField::When::Always ? line : sometimes) +=
            "," + (value ? fieldText(field, *value) : std::string());
        if (field.name != std::string("tokens_in")) continue;
        for (std::size_t stage = 0; stage < static_cast<std::size_t>(stages); ++stage)
            line += "," + (stage < m.stageTokens.size() ? std::to_string(m.stageTokens[stage]) : "");
    }
    for (std::size_t id = 0; id < static_cast<std::size_t>(classes); ++id)
        line += "," + (id < m.classShares.size() ? numberText(m.classShares[id]) : "");
    for (const auto& [id, name] : extras.counted) {
        const auto found = m.objectCounts.find(id);
        sometimes += "," + (found == m.objectCounts.end() ? std::string() : std::to_string(found->second));
    }
    return line + sometimes;
}

}  // namespace mpm::pipeline
