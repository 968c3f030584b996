#include "cli/common/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <opencv2/core/utility.hpp>

#include "base/pending_file.hpp"
#include "base/printable.hpp"
#include "cli/common/error.hpp"
#include "cli/common/machine.hpp"

namespace mpm::cli {

namespace {

constexpr size_t kLongestCell = 100;

/// Names of files need not be UTF-8, JSON must be.
std::string textOf(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string indented(const Json& json, size_t depth) {
    const bool flat = std::none_of(json.begin(), json.end(), [](const Json& j) { return j.is_structured(); });
    if (!json.is_structured() || json.empty() || (json.is_array() && flat)) return textOf(json);
    const std::string pad(2 * depth + 2, ' ');
    std::string text = json.is_array() ? "[" : "{";
    for (const auto& [key, value] : json.items()) {
        text += (text.size() > 1 ? ",\n" : "\n") + pad;
        if (json.is_object()) text += textOf(key) + ": ";
        text += indented(value, depth + 1);
    }
    return text + '\n' + std::string(2 * depth, ' ') + (json.is_array() ? "]" : "}");
}

}  // namespace

Json reportHead(const pipeline::Network& network) {
    return {{"mpm", mpm::version()},
            {"opencv", cv::getVersionString()},
            {"cpu", cpuName()},
            {"cpu_features", cpuFeatures()},
            {"threads", cv::getNumThreads()},
            {"model", network.name()},
            {"size", {network.info().size.height, network.info().size.width}}};
}

Json finite(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

namespace {

/// The library's words, with the status of a verb.
template <class Work>
void writing(const Work& work) {
    try {
        work();
    } catch (const cv::Exception& error) {
        throw Error(error.code == cv::Error::StsBadArg ? kWrongUse : kFailed, error.err);
    }
}

}  // namespace

void checkWritable(const std::string& path) {
    writing([&] { PendingFile file(path); });
}

void writeBytes(const std::string& path, std::string_view bytes, Sync sync) {
    writing([&] {
        PendingFile file(path);
        file.write(bytes);
        file.keep(sync);
    });
}

void writeText(const std::string& path, const std::string& text) {
    writeBytes(path, text);
}

std::string reportText(const Json& report) {
    return indented(report, 0) + '\n';
}

void writeJson(const std::string& path, const Json& report) {
    writeText(path, reportText(report));
}

std::string markdownTable(std::vector<std::vector<std::string>> rows) {
    for (auto& row : rows)
        for (std::string& cell : row)
            cell = printable(cell, kLongestCell);
    std::vector<size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 3);
        for (size_t c = 0; c < row.size(); ++c)
            widths[c] = std::max(widths[c], row[c].size());
    }
    std::string table;
    for (size_t r = 0; r < rows.size(); ++r) {
        for (size_t c = 0; c < rows[r].size(); ++c) {
            const std::string pad(widths[c] - rows[r][c].size(), ' ');
            table +=
                c == 0 ? "| " + rows[r][c] + pad : " | " + pad + rows[r][c];  // words left, numbers right
        }
        table += " |\n";
        if (r > 0) continue;
        for (size_t c = 0; c < rows[r].size(); ++c)
            table += (c == 0 ? "| " : " | ") + std::string(widths[c] - 1, '-') + (c == 0 ? "-" : ":");
        table += " |\n";
    }
    return table;
}

void TokenMeans::add(const mpm::ImageReport& report) {
    m_sums.resize(std::max(m_sums.size(), report.tokens.size()), 0.0);
    for (size_t block = 0; block < report.tokens.size(); ++block)
        m_sums[block] += report.tokens[block];
    if (m_schedule.empty())
        for (const mpm::Stage& stage : report.stages)
            m_schedule.push_back(stage.block);
    ++m_images;
}

std::vector<double> TokenMeans::means() const {
    std::vector<double> means = m_sums;
    for (double& value : means)
        value /= std::max(m_images, 1);
    return means;
}

std::string fixedText(double value, int digits) {
    if (!std::isfinite(value)) return "-";
    char text[48];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

}  // namespace mpm::cli
