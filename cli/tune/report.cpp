#include "cli/tune/tune.hpp"

#include <algorithm>
#include <filesystem>

#include "base/statistics.hpp"
#include "cli/common/options.hpp"
#include "cli/common/table.hpp"

namespace mpm::cli {

using pipeline::TuneRow;

std::string tuneTable(const pipeline::ModelTuning& tuning) {
    const pipeline::TuneResult& result = tuning.result;
    Cells cells = {{"method", "blocks", "agreement", "worst tenth", "times as fast", "ms", "tokens left"}};
    cells.push_back({"none", "", "1.0000", "1.0000", "1.00", fixedCell(result.fullMs, 2), "100 %"});
    for (const size_t index : result.front) {
        const TuneRow& row = result.rows[index];
        const bool own = ignoresSchedule(row.method.name);
        cells.push_back({row.method.name, own ? "its own" : blocksText(*row.method.blocks),
                         fixedCell(row.agreement(), 4), fixedCell(row.worst(), 4), fixedCell(row.speed(), 2),
                         fixedCell(result.ms(row), 2), fixedCell(100 * mean(row.kept), 0) + " %"});
    }
    return markdownTable(cells) + "\nAgreement: " + textOf(tuning.kind).words + "; " +
           std::to_string(tuning.images) + " images.\n";
}

std::string choiceText(const TuneRow& row) {
    return row.method.name + " before blocks " + blocksText(*row.method.blocks) + ": " +
           fixedCell(row.speed(), 2) + " times as fast as all tokens, agreement " +
           fixedCell(row.agreement(), 4);
}

pipeline::Figure tuneFigure(const pipeline::ModelTuning& tuning, const std::string& model) {
    const pipeline::TuneResult& result = tuning.result;
    const auto pointOf = [](const TuneRow& row, bool named) {
        return pipeline::PlotPoint{row.speed(), row.agreement(), 0, 0, named ? row.method.text : ""};
    };
    pipeline::PlotSeries tried, best, chosen;
    tried.name = "tried", tried.line = false;
    best.name = "not beaten in both";
    chosen.name = "chosen", chosen.line = false, chosen.ring = true, chosen.radius = 8;
    for (size_t i = 0; i < result.rows.size(); ++i) {
        const bool front = std::count(result.front.begin(), result.front.end(), i) > 0;
        if (!front && result.rows[i].images() > 0) tried.points.push_back(pointOf(result.rows[i], false));
    }
    for (const size_t index : result.front)
        best.points.push_back(pointOf(result.rows[index], true));
    best.points.push_back({1, 1, 0, 0, "all tokens"});
    if (result.best) chosen.points.push_back(pointOf(result.rows[*result.best], false));
    pipeline::PlotPanel panel{"", "times as fast as all tokens", "agreement with all tokens"};
    panel.series = {tried, best};
    if (result.best) panel.series.push_back(chosen);
    pipeline::Figure figure{"Merging, tuned without labels", {panel}, {700, 460}};
    figure.origin =
        pipeline::originText({std::filesystem::path(model).filename().string(),
                              std::to_string(tuning.images) + " images", std::string("mpm ") + version()});
    return figure;
}

}  // namespace mpm::cli
