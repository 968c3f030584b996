// What bench and eval say at the end: JSON of the contract, and the same as a Markdown table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/pending_file.hpp"
#include "pipeline/segment/network.hpp"

namespace mpm::cli {

using Json = nlohmann::ordered_json;

/// {"mpm": ..., "opencv": ..., "cpu": ..., "model": ...}; the caller adds "results".
Json reportHead(const pipeline::Network& network);

/// A number, or null where it is not finite: JSON knows neither NaN nor infinity.
Json finite(double value);

/// Throws Error where `path` cannot be written to (kFailed) or is a folder (kWrongUse): better said before an
/// hour of measuring than after it.
void checkWritable(const std::string& path);

/// Whole or not at all; links are followed, devices and pipes written through. Throws Error as checkWritable.
void writeBytes(const std::string& path, std::string_view bytes, Sync sync = Sync::Always);
void writeText(const std::string& path, const std::string& text);

/// Indented, lists of plain values on one line each.
std::string reportText(const Json& report);

void writeJson(const std::string& path, const Json& report);

/// Columns padded so that the table reads well as plain text too.
std::string markdownTable(std::vector<std::vector<std::string>> rows);

/// Mean tokens entering each block, over images.
class TokenMeans {
public:
    void add(const mpm::ImageReport& report);
    std::vector<double> means() const;
    std::vector<int> schedule() const { return m_schedule; }  ///< blocks at which merges happened

private:
    std::vector<double> m_sums;
    std::vector<int> m_schedule;
    int m_images = 0;
};

std::string fixedText(double value, int digits);  ///< "-" where it is not finite

}  // namespace mpm::cli
