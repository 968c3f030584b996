#include "cli/bench/report.hpp"

#include <algorithm>
#include <numeric>

#include "cli/common/options.hpp"
#include "cli/common/table.hpp"
#include "pipeline/segment/names.hpp"

namespace mpm::cli {

namespace {

using pipeline::BenchRow;
using pipeline::deviceName;
using pipeline::precisionName;

std::string accuracyText(std::optional<double> loss) {
    if (!loss) return {};
    if (*loss <= 0) return ", and no mIoU";
    return " and " + fixedCell(100 * *loss, 2) + " points of mIoU";
}

/// Returns the table. If the table is wider than the terminal, leaves out the least useful columns. Leaves
/// out device, precision or batch only if all rows have the same value, and adds a line with this value.
std::string fittingTable(Cells cells, int width) {
    std::string same;
    for (const char* name :
         {"device", "precision", "batch", "p10", "p90", "restore", "merge", "encoder", "+-"}) {
        const std::string table = markdownTable(cells);
        if (width <= 0 || table.find('\n') <= static_cast<size_t>(width)) return table + same;
        const auto head = std::find(cells[0].begin(), cells[0].end(), name);
        if (head == cells[0].end()) continue;
        const auto at = head - cells[0].begin();
        const std::string first = cells[1][static_cast<size_t>(at)];
        const bool equal = std::all_of(cells.begin() + 1, cells.end(), [&](const auto& row) {
            return row[static_cast<size_t>(at)] == first;
        });
        const std::string word = name;
        const bool setting = word == "device" || word == "precision" || word == "batch";
        if (setting && !equal) continue;
        if (setting) same += (same.empty() ? "All rows: " : ", ") + word + " " + first;
        for (auto& row : cells)
            row.erase(row.begin() + at);
    }
    return markdownTable(cells) + same;
}

}  // namespace

std::string benchTable(const std::vector<BenchRow>& rows, int width) {
    Cells cells = {{"method", "schedule", "device", "precision", "batch", "tokens left", "GFLOPs", "ms",
                    "p10", "p90", "encoder", "merge", "restore", "images/s", "+-", "speed"}};
    for (const BenchRow& row : rows) {
        const BenchRow* base = baseOf(rows, row);
        cells.push_back({row.method.text, scheduleCell(row.tokens.schedule()), deviceName(row.device),
                         precisionName(row.precision), std::to_string(row.batch),
                         fixedCell(mpm::mean(row.kept), 0), fixedCell(row.gflops(), 2),
                         fixedCell(row.ms(0.5), 2), fixedCell(row.ms(0.1), 2), fixedCell(row.ms(0.9), 2),
                         fixedCell(row.encoderMs(), 2), fixedCell(row.mergeMs(), 2),
                         fixedCell(row.restoreMs(), 2), fixedCell(row.imagesPerSecond().perSecond, 2),
                         fixedCell(row.imagesPerSecond().standardError, 2),
                         base != nullptr ? fixedCell(speedOf(row, *base), 2) + "x" : "-"});
    }
    std::string table = fittingTable(std::move(cells), width);
    if (table.back() != '\n') table += '\n';
    return table;
}

std::string blockTable(const std::vector<BenchRow>& rows) {
    Cells cells = {{"block"}};
    const size_t blocks = rows.front().blockGflops().size();
    for (size_t block = 0; block < blocks; ++block)
        cells.push_back({std::to_string(block)});
    cells.push_back({"blocks and merging"});
    cells.push_back({"against the first"});
    const std::vector<double> first = rows.front().blockGflops();
    const double whole = std::accumulate(first.begin(), first.end(), 0.0);
    for (const BenchRow& row : rows) {
        if (row.batch != rows.front().batch || row.blockGflops().size() != blocks) continue;
        const std::vector<double> tokens = row.tokens.means(), gflops = row.blockGflops();
        cells[0].insert(cells[0].end(), {row.method.text + ": tokens", "GFLOPs"});
        double sum = 0;
        for (size_t block = 0; block < blocks; ++block) {
            cells[block + 1].insert(cells[block + 1].end(),
                                    {fixedCell(tokens[block], 0), fixedCell(gflops[block], 3)});
            sum += gflops[block];
        }
        cells[blocks + 1].insert(cells[blocks + 1].end(), {"", fixedCell(sum, 3)});
        cells[blocks + 2].insert(cells[blocks + 2].end(), {"", fixedCell(100 * sum / whole, 1) + " %"});
    }
    return markdownTable(cells);
}

std::string partTable(const std::vector<BenchRow>& rows) {
    const BenchRow& first = rows.front();
    if (first.parts.empty()) return "No times by part: this engine of OpenCV measures no layers.\n";
    Cells cells = {{"part"}};
    for (const pipeline::PartTimes& part : first.parts)
        cells.push_back({part.name});
    cells.push_back({"whole forward"});
    for (const BenchRow& row : rows) {
        if (row.batch != first.batch || row.parts.size() != first.parts.size()) continue;
        const bool frames = row.method.reuses();  // frames differ in cost, so a median would mislead
        cells[0].push_back(row.method.text + " ms");
        for (size_t part = 0; part < row.parts.size(); ++part)
            cells[part + 1].push_back(fixedCell(frames ? row.parts[part].meanMs() : row.parts[part].ms(), 2));
        cells.back().push_back(fixedCell(frames ? row.meanMs() : row.ms(0.5), 2));
    }
    return markdownTable(cells);
}

std::string batchTable(const std::vector<BenchRow>& rows) {
    Cells cells = {{"method", "batch", "tokens left: least", "mean", "most", "+-", "rows if padded",
                    "packed ms", "padded ms", "packing gains"}};
    for (const BenchRow& row : rows) {
        if (row.batch < 2) continue;
        const bool ragged = !row.padded.empty();
        cells.push_back({row.method.text, std::to_string(row.batch), fixedCell(row.keptQuantile(0), 0),
                         fixedCell(mpm::mean(row.kept), 1), fixedCell(row.keptQuantile(1), 0),
                         fixedCell(mpm::deviation(row.kept), 1),
                         ragged ? fixedCell(100 * row.paddedRows() - 100, 1) + " % more" : "none more",
                         fixedCell(row.ms(0.5), 2), ragged ? fixedCell(row.paddedMs(), 2) : "-",
                         ragged ? fixedCell(row.paddedMs() / row.ms(0.5), 2) + "x" : "-"});
    }
    return cells.size() > 1 ? markdownTable(cells) : std::string();
}

std::string verdict(const std::vector<BenchRow>& rows, cv::Size size, const EvalScores& scores) {
    std::string text;
    const BenchRow* best = nullptr;
    for (const BenchRow& row : rows) {
        const BenchRow* base = baseOf(rows, row);
        if (base == nullptr || row.method.name == "none") continue;
        if (row.method.reuses()) {
            text += reuseText({row.method.text, row.meanMs(), base->meanMs(), row.gflops(), base->gflops()},
                              row.reuse, row.agreement);
            continue;
        }
        const double saved = base->ms(0.5) - row.ms(0.5), speed = base->ms(0.5) / row.ms(0.5);
        const bool noisy = base->ms(0.1) < row.ms(0.9) && row.ms(0.1) < base->ms(0.9);
        text += cv::format(
            "At %dx%d on %s in %s, batch %d: merging by %s before {%s} saves %.2f ms an image (%.2fx the "
            "speed of all tokens), after %.2f ms for merging and restoring",
            size.height, size.width, deviceName(row.device).c_str(), precisionName(row.precision).c_str(),
            row.batch, row.method.text.c_str(), blocksText(row.tokens.schedule()).c_str(), saved, speed,
            row.mergeMs() + row.restoreMs());
        text +=
            accuracyText(scores.loss(row.method, row.tokens.schedule(), precisionName(row.precision))) + ". ";
        const bool single = row.forwards.size() < 2;
        text += single ? "One round does not show how much rounds scatter: measure more (--rounds).\n"
                : noisy
                    ? "The rounds scatter more than that: measure longer (--rounds) on a quieter machine.\n"
                : speed > 1 ? "It pays.\n"
                            : "It does not pay.\n";
        if (best == nullptr || row.ms(0.5) < best->ms(0.5)) best = &row;
    }
    if (best != nullptr && scores.known() && best->ms(0.5) < baseOf(rows, *best)->ms(0.5))
        text += "The best of these schedules here: " + best->method.text + ", batch " +
                std::to_string(best->batch) + ".\n";
    return text;
}

}  // namespace mpm::cli
