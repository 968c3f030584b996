#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/csv.hpp"
#include "base/number.hpp"
#include "pipeline/store/database.hpp"

namespace mpm::pipeline {

namespace {

/// A column's name as csvField() writes it, but without quotes around mere spaces, as files have always had
/// it.
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

std::string csvHead(int stages, const std::vector<std::string>& classNames, CsvExtras extras) {
    std::string head = "time,frame,phase,luminance,tokens_in";
    for (int stage = 0; stage < stages; ++stage)
        head += ",tokens_stage_" + std::to_string(stage + 1);
    head += ",tokens_kept,capture_ms,network_ms,encoder_ms,merge_ms,draw_ms,dropped";
    for (const std::string& name : classNames)
        head += "," + columnName("share " + name);
    if (extras.reuse) head += ",recomputed,token_age";
    if (extras.saved) head += ",saved_ms";
    return head;
}

std::string csvLine(const Measurement& m, int stages, int classes, CsvExtras extras) {
    std::string line = timeText(m.time) + "," + std::to_string(m.frame) +
                       (m.phase == Phase::Night ? ",night," : ",day,") + numberText(m.luminance) + "," +
                       std::to_string(m.tokensIn);
    for (int stage = 0; stage < stages; ++stage)
        line +=
            "," + (stage < int(m.stageTokens.size()) ? std::to_string(m.stageTokens[stage]) : std::string());
    line += "," + std::to_string(m.tokensKept());
    for (double ms : {m.captureMs, m.networkMs, m.encoderMs, m.mergeMs, m.drawMs})
        line += "," + numberText(ms);
    line += "," + std::to_string(m.dropped);
    for (int id = 0; id < classes; ++id)
        line += "," + (id < int(m.classShares.size()) ? numberText(m.classShares[id]) : std::string());
    const auto add = [&line](bool known, double value) {
        line += ',';
        if (known) line += numberText(value);
    };
    if (extras.reuse)
        add(m.recomputed >= 0, m.recomputed), add(m.tokenAge.has_value(), m.tokenAge.value_or(0));
    if (extras.saved) add(m.savedMs.has_value(), m.savedMs.value_or(0));
    return line;
}

}  // namespace mpm::pipeline
