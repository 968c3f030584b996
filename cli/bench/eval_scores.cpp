#include "cli/bench/report.hpp"

#include <algorithm>
#include <set>

#include "base/read_file.hpp"
#include "cli/common/error.hpp"
#include "cli/common/files.hpp"
#include "cli/common/table.hpp"

namespace mpm::cli {

namespace {

constexpr size_t kCandidates = 4;  ///< largest number of schedules; more would take too long to measure

bool isPlainMutualPairs(const std::string& text) {
    return text.rfind("mpm", 0) == 0 && text.find('=') == std::string::npos;
}

}  // namespace

EvalScores::EvalScores(const std::string& path) : m_path(path) {
    constexpr std::uint64_t kLargest = 256 << 20;  // bytes
    Json report;
    try {
        report = Json::parse(readRegularFile(path, kLargest), nullptr, false);
    } catch (const cv::Exception& error) {
        const std::string advice = error.err.find(';') == std::string::npos ? "; name a file" : "";
        throw Error(kBadInput, "--eval: " + error.err + advice + " of 'mpm eval --json'");
    }
    try {
        for (const Json& row : report.at("results")) {
            if (row.at("loss").is_null() || row.at("gflops").is_null() || !row.at("night").is_null())
                continue;
            m_rows.push_back({row.at("parameters"), row.value("precision", std::string("f32")),
                              row.at("schedule"), row.at("loss"), row.at("gflops")});
        }
    } catch (const nlohmann::json::exception&) {
        throw Error(kBadInput, "--eval: " + path + " is not a report of 'mpm eval --json'; name one");
    }
    if (m_rows.empty())
        throw Error(kBadInput, "--eval: " + path + " has no losses; let it compare none with others");
}

std::optional<double> EvalScores::loss(const pipeline::Method& method, const std::vector<int>& blocks,
                                       const std::string& precision) const {
    const bool pairs = isPlainMutualPairs(method.text);
    for (const Row& row : m_rows) {
        const bool same = pairs ? isPlainMutualPairs(row.text) : row.text == method.text;
        if (same && row.precision == precision && row.schedule == method.blocks.value_or(blocks))
            return row.loss;
    }
    return std::nullopt;
}

bool EvalScores::fits(const std::vector<int>& schedule, double most) const {
    return std::all_of(m_rows.begin(), m_rows.end(), [&](const Row& row) {
        return !isPlainMutualPairs(row.text) || row.schedule != schedule || row.loss <= most;
    });
}

std::vector<pipeline::Method> EvalScores::within(double most) const {
    std::vector<Row> fitting;
    for (const Row& row : m_rows)
        if (isPlainMutualPairs(row.text) && fits(row.schedule, most)) fitting.push_back(row);
    if (fitting.empty())
        throw Error(kFailed, m_path + ": no schedule loses at most " + fixedCell(100 * most, 2) +
                                 " points of mIoU; allow more, or let 'mpm eval' compare singles,pairs too");
    std::sort(fitting.begin(), fitting.end(), [](const Row& a, const Row& b) { return a.gflops < b.gflops; });
    std::vector<pipeline::Method> methods = {{"none", std::nullopt, "none"}};
    std::set<std::vector<int>> chosen;  // rows of other precisions or batches can have the same schedule
    for (size_t i = 0; i < fitting.size() && chosen.size() < kCandidates; ++i)
        if (chosen.insert(fitting[i].schedule).second)
            methods.push_back(pipeline::mutualPairsBefore(fitting[i].schedule));
    return methods;
}

}  // namespace mpm::cli
