#include "cli/eval/report.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>

#include "cli/common/files.hpp"
#include "cli/common/options.hpp"
#include "pipeline/measure/eval_summary.hpp"

namespace mpm::cli {

namespace {

using pipeline::EvalRow;
using pipeline::EvalSummary;
using pipeline::Figure;
using pipeline::PlotPanel;
using pipeline::PlotPoint;
using pipeline::PlotSeries;
using Rows = std::vector<const EvalRow*>;

constexpr size_t kMostCurves = 8;  ///< more colours would be too similar

/// Returns the rows that were measured by day or, if there are none, in the first night.
Rows firstLight(const EvalSummary& summary) {
    Rows rows;
    for (const EvalRow& row : summary.rows)
        if (row.night == summary.rows.front().night) rows.push_back(&row);
    return rows;
}

std::string shortText(const EvalRow& row) {
    const size_t colon = row.text.find(':');
    return colon == std::string::npos ? (row.method == "none"   ? "all tokens"
                                         : row.schedule.empty() ? row.method
                                                                : "{" + blocksText(row.schedule) + "}")
                                      : row.text.substr(colon + 1);
}

/// Returns a series for each method. The line of a series joins the method's settings in the order of `x`.
std::vector<PlotSeries> byMethod(const Rows& rows, double (*x)(const EvalRow&), bool errors) {
    std::vector<PlotSeries> series;
    for (const EvalRow* row : rows) {
        auto at = std::find_if(series.begin(), series.end(),
                               [&](const PlotSeries& s) { return s.name == row->method; });
        if (at == series.end()) {
            at = series.insert(series.end(), PlotSeries{});
            at->name = row->method;
            at->colourOf = row->text;  // the colour of the first setting
        }
        const double error = errors ? row->imagesPerSecond().standardError : 0;
        at->points.push_back(
            {x(*row), 100 * row->whole.miou(), std::isfinite(error) ? error : 0, 0, shortText(*row)});
    }
    for (PlotSeries& one : series)
        std::sort(one.points.begin(), one.points.end(),
                  [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; });
    return series;
}

Figure accuracyFigure(const EvalSummary& summary) {
    const Rows rows = firstLight(summary);
    PlotPanel speed{"Accuracy against speed", "images a second (network alone)", "mIoU, %"};
    speed.series = byMethod(
        rows, [](const EvalRow& row) { return row.imagesPerSecond().perSecond; }, true);
    PlotPanel work{"Accuracy against operations", "GFLOPs an image", "mIoU, %"};
    work.series = byMethod(
        rows, [](const EvalRow& row) { return row.gflops(); }, false);
    return {"Accuracy and cost", {speed, work}};
}

Figure tokensFigure(const EvalSummary& summary) {
    PlotPanel panel{"Image tokens entering each block, mean over images", "block", "tokens", {}, {}, true};
    for (const EvalRow* row : firstLight(summary)) {
        if (panel.series.size() == kMostCurves) break;
        PlotSeries series;
        series.name = row->text, series.markers = false;
        for (size_t block = 0; block < row->tokens.size(); ++block) {
            series.points.push_back({double(block), row->tokens[block]});
            series.points.push_back({double(block) + 1, row->tokens[block]});
        }
        panel.series.push_back(series);
    }
    return {"Tokens per stage", {panel}, {720, 360}};
}

/// Returns a line of a plot: the share in percent for each distance below kFarthest.
PlotSeries shareSeries(const std::string& name, const std::vector<double>& shares) {
    constexpr size_t kFarthest = 16;
    PlotSeries series;
    series.name = name;
    for (size_t bin = 0; bin < std::min(shares.size(), kFarthest); ++bin)
        series.points.push_back({double(bin), 100 * shares[bin]});
    return series;
}

std::vector<double> sharesOf(const pipeline::DistanceCounts& counts) {
    const double all = double(std::accumulate(counts.begin(), counts.end(), std::int64_t(0)));
    std::vector<double> shares;
    for (const std::int64_t count : counts)
        shares.push_back(all > 0 ? double(count) / all : 0);
    return shares;
}

Figure distanceFigure(const EvalSummary& summary) {
    PlotPanel panel{"Distance between tokens that merge", "patches, centre to centre (1: neighbours)",
                    "share of merges, %"};
    panel.fromZero = true;
    std::vector<std::string> seen;  // methods in the panel; the panel shows a single setting of each
    for (const EvalRow* row : firstLight(summary)) {
        if (row->joins.empty() || std::count(seen.begin(), seen.end(), row->method) > 0) continue;
        seen.push_back(row->method);
        if (row->joins.size() <= 2) {
            for (size_t stage = 0; stage < row->joins.size(); ++stage) {
                // `schedule` is from the last group of images, which may lack stages of other groups.
                const bool known = stage < row->schedule.size();
                panel.series.push_back(
                    shareSeries(row->text + (known ? ", block " + std::to_string(row->schedule[stage]) : ""),
                                sharesOf(row->joins[stage])));
                if (stage == 0) panel.series.back().colourOf = row->text;
            }
            continue;
        }
        pipeline::DistanceCounts all;
        for (const pipeline::DistanceCounts& stage : row->joins) {
            all.resize(std::max(all.size(), stage.size()), 0);
            std::transform(stage.begin(), stage.end(), all.begin(), all.begin(), std::plus<>());
        }
        panel.series.push_back(shareSeries(row->text + ", all blocks", sharesOf(all)));
        panel.series.back().colourOf = row->text;
    }
    const cv::Size size = summary.head.run.size;
    const double patch = std::sqrt(double(size.area()) / summary.rows.front().tokens.front());
    panel.series.push_back(
        shareSeries("two random patches",
                    pipeline::chanceDistances({cvRound(size.width / patch), cvRound(size.height / patch)})));
    panel.series.back().dashed = true;
    return {"Distance between merged patches", {panel}, {720, 360}};
}

Figure regionFigure(const EvalSummary& summary) {
    PlotPanel scores{"mIoU lost against all tokens, points", "", "points"};
    PlotPanel objects{"Correct pixels lost against all tokens, points", "", "points"};
    scores.categories = {"boundary band", "interior"};
    objects.categories = {"small objects", "medium", "large"};
    for (const EvalRow* row : firstLight(summary)) {
        const EvalRow* base = summary.baseOf(*row);
        if (base == nullptr || base == row || scores.series.size() == kMostCurves) continue;
        PlotSeries one, other;
        one.name = other.name = row->text;
        one.points = {{0, 100 * (base->classes.band.miou() - row->classes.band.miou())},
                      {1, 100 * (base->classes.interior.miou() - row->classes.interior.miou())}};
        for (int size = 0; size < pipeline::ObjectCounts::kSizes; ++size)
            other.points.push_back(
                {double(size), 100 * (base->objects.recall(size) - row->objects.recall(size))});
        scores.series.push_back(one);
        objects.series.push_back(other);
    }
    return {"Where accuracy goes", {scores, objects}};
}

/// Returns the rows of the method `mpm` whose schedule has `count` blocks.
Rows insertions(const EvalSummary& summary, size_t count) {
    Rows rows;
    for (const EvalRow* row : firstLight(summary))
        if (row->method == "mpm" && row->schedule.size() == count) rows.push_back(row);
    return rows;
}

Figure depthFigure(const EvalSummary& summary) {
    const Rows singles = insertions(summary, 1), pairs = insertions(summary, 2);
    PlotPanel depth{"One insertion, before each block", "block", "mIoU, %"};
    PlotPanel plane{"One insertion and two", "GFLOPs an image", "mIoU, %"};
    PlotSeries line, base, single, pair;
    line.name = single.name = "one insertion", pair.name = "two insertions", base.name = "all tokens";
    single.line = pair.line = base.markers = false, base.dashed = true, pair.radius = 3;
    const EvalRow* all = summary.baseOf(*singles.front());
    for (const EvalRow* row : singles) {
        const double miou = 100 * row->whole.miou();
        line.points.push_back({double(row->schedule[0]), miou});
        single.points.push_back({row->gflops(), miou, 0, 0, shortText(*row)});
    }
    // Labels the paper's schedule {2, 5}, and each schedule that no other schedule beats in both operations
    // and mIoU.
    for (const EvalRow* row : pairs) {
        const bool beaten = std::any_of(pairs.begin(), pairs.end(), [&](const EvalRow* other) {
            return other->gflops() < row->gflops() && other->whole.miou() > row->whole.miou();
        });
        const bool published = row->schedule == std::vector<int>{2, 5};
        pair.points.push_back({row->gflops(), 100 * row->whole.miou(), 0, 0,
                               published || !beaten ? "{" + blocksText(row->schedule) + "}" : ""});
    }
    depth.series = {line};
    plane.series = {single, pair};
    if (all != nullptr) {
        const double miou = 100 * all->whole.miou();
        base.points = {{line.points.front().x, miou}, {line.points.back().x, miou}};
        depth.series.push_back(base);
        PlotSeries mark = base;
        mark.markers = true, mark.line = false;
        mark.points = {{all->gflops(), miou, 0, 0, "all tokens"}};
        plane.series.push_back(mark);
    }
    return {"Where to merge", {depth, plane}};
}

std::string lightText(const EvalRow& row) {
    return row.night ? cv::format("%g, %g, %g", (*row.night)[0], (*row.night)[1], (*row.night)[2]) : "day";
}

Figure nightFigure(const EvalSummary& summary) {
    const std::vector<pipeline::DayNightPair> pairs = pairsOf(summary);
    std::vector<std::string> lights;
    for (const pipeline::DayNightPair& pair : pairs)
        if (std::count(lights.begin(), lights.end(), lightText(*pair.night)) == 0)
            lights.push_back(lightText(*pair.night));
    PlotPanel change{"Tokens merged away, night against day", "night: luminance, photons, deviation",
                     "change, %"};
    change.categories = lights;
    std::vector<std::string> all = {"day"};  // short labels: the left panel shows all three values
    for (const std::string& light : lights)
        all.push_back("night " + light.substr(0, light.find(',')));
    PlotPanel scores{"mIoU by day and by night", "", "mIoU, %", {}, all};
    for (const pipeline::DayNightPair& pair : pairs) {
        const auto seriesOf = [&](PlotPanel& panel) -> PlotSeries& {
            for (PlotSeries& one : panel.series)
                if (one.name == pair.day->text) return one;
            panel.series.emplace_back();
            panel.series.back().name = pair.day->text;
            return panel.series.back();
        };
        const bool known = std::any_of(scores.series.begin(), scores.series.end(),
                                       [&](const PlotSeries& s) { return s.name == pair.day->text; });
        if (!known && scores.series.size() == kMostCurves) continue;
        const double at =
            double(std::find(lights.begin(), lights.end(), lightText(*pair.night)) - lights.begin());
        PlotSeries& score = seriesOf(scores);
        if (score.points.empty()) score.points.push_back({0, 100 * pair.day->whole.miou()});
        score.points.push_back({at + 1, 100 * pair.night->whole.miou()});
        if (std::isfinite(pair.change))
            seriesOf(change).points.push_back({at, 100 * pair.change, 0, 100 * pair.standardError, {}});
    }
    return {"Day and night, the same images", {change, scores}};
}

std::string colourIn(const std::vector<PlotSeries>& all, const std::string& name) {
    for (const PlotSeries& series : all)
        if (series.name == name) return series.colourOf;
    return {};
}

Figure tuningFigure(const EvalSummary& summary) {
    const std::vector<pipeline::Tuned> tuned = pipeline::tunedByDay(summary);
    Rows day, night;
    for (const pipeline::DayNightPair& pair : pairsOf(summary)) {
        if (lightText(*pair.night) != lightText(*tuned.front().night)) continue;
        day.push_back(pair.day);
        night.push_back(pair.night);
    }
    const auto gflops = [](const EvalRow& row) { return row.gflops(); };
    PlotPanel left{"By day; ringed: the settings tuned by day", "GFLOPs an image", "mIoU, %"};
    PlotPanel right{"By night; ringed: the same settings", "GFLOPs an image", "mIoU, %"};
    left.series = byMethod(day, gflops, false);
    right.series = byMethod(night, gflops, false);
    for (const pipeline::Tuned& choice : tuned) {
        PlotSeries ring;
        ring.name = choice.day->method, ring.colourOf = colourIn(left.series, ring.name), ring.line = false,
        ring.ring = true, ring.radius = 8;
        ring.points = {{choice.day->gflops(), 100 * choice.day->whole.miou()}};
        left.series.push_back(ring);
        ring.points = {{choice.night->gflops(), 100 * choice.night->whole.miou()}};
        right.series.push_back(ring);
    }
    return {"Tuned by day, run by night", {left, right}};
}

}  // namespace

std::vector<std::pair<std::string, Figure>> evalFigures(const EvalSummary& summary) {
    std::vector<std::pair<std::string, Figure>> figures;
    const Rows rows = firstLight(summary);
    const bool merges =
        std::any_of(rows.begin(), rows.end(), [](const EvalRow* row) { return !row->joins.empty(); });
    const bool based = std::any_of(rows.begin(), rows.end(), [&](const EvalRow* row) {
        return summary.baseOf(*row) != nullptr && summary.baseOf(*row) != row;
    });
    const bool sweep = insertions(summary, 1).size() > 2;
    // A sweep has too many rows for distinct colours, so depthFigure() replaces the next four figures.
    if (rows.size() > 1 && !sweep) figures.emplace_back("accuracy", accuracyFigure(summary));
    if (!sweep) figures.emplace_back("tokens", tokensFigure(summary));
    if (merges && !sweep) figures.emplace_back("distance", distanceFigure(summary));
    if (based && !sweep) figures.emplace_back("regions", regionFigure(summary));
    if (sweep) figures.emplace_back("depth", depthFigure(summary));
    if (!pairsOf(summary).empty()) figures.emplace_back("night", nightFigure(summary));
    if (!pipeline::tunedByDay(summary).empty()) figures.emplace_back("tuning", tuningFigure(summary));
    std::vector<std::string> colours;
    for (const EvalRow& row : summary.rows)
        if (std::count(colours.begin(), colours.end(), row.text) == 0) colours.push_back(row.text);
    const pipeline::EvalHead& head = summary.head;
    const std::string origin = pipeline::originText(
        {std::filesystem::path(head.run.model).filename().string(), head.dataset + " " + head.split,
         std::to_string(head.images) + " images", "mpm " + head.run.mpm});
    for (auto& [stem, figure] : figures)
        figure.colours = colours, figure.origin = origin;
    return figures;
}

void writePlots(const std::string& folder, const EvalSummary& summary) {
    for (const auto& [stem, figure] : evalFigures(summary)) {
        const std::string path = (std::filesystem::path(folder) / stem).string();
        writeBytes(path + ".svg", pipeline::toSvg(figure));
        writeImage(path + ".png", pipeline::toImage(figure));
    }
}

}  // namespace mpm::cli
