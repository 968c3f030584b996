#include "cli/eval/report.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/row_file.hpp"
#include "cli/common/options.hpp"
#include "cli/common/table.hpp"
#include "pipeline/measure/eval_summary.hpp"

namespace mpm::cli {

namespace {

using pipeline::EvalRow;
using pipeline::EvalSummary;

std::string percent(double value) {
    return fixedCell(100 * value, 2);
}

std::string nightText(const EvalRow& row) {
    if (!row.night) return "day";
    const std::vector<double>& n = *row.night;
    return cv::format("night %g,%g,%g", n[0], n[1], n[2]);
}

/// Returns the method's text, followed by precision, batch size and light if the rows differ in them.
std::string rowName(const EvalSummary& summary, const EvalRow& row) {
    std::string name = row.text;
    if (summary.severalPrecisions) name += " " + row.precision;
    if (summary.severalBatches) name += " batch " + std::to_string(row.batch);
    if (summary.severalLights) name += row.night ? " " + nightText(row) : " day";
    return name;
}

bool hasPaper(const EvalSummary& summary) {
    for (const EvalRow& row : summary.rows)
        if (publishedFor(summary.head, row)) return true;
    return false;
}

void addPaper(const EvalSummary& summary, const EvalRow& row, std::vector<std::string>& cells) {
    const auto figures = publishedFor(summary.head, row);
    for (const double value :
         {figures ? figures->miou : NAN, figures ? figures->gflops : NAN, figures ? figures->fps : NAN})
        cells.push_back(fixedCell(value, 1));
}

}  // namespace

std::string resultTable(const EvalSummary& summary) {
    Cells cells = {{"method", "schedule", "device", "precision", "batch", "light", "mIoU", "loss", "mAcc",
                    "aAcc", "tokens left", "GFLOPs", "+-", "images/s", "+-", "merge ms", "images"}};
    const bool paper = hasPaper(summary);
    if (paper) cells[0].insert(cells[0].end(), {"paper: mIoU", "GFLOPs", "FPS, H100"});
    for (const EvalRow& row : summary.rows) {
        cells.push_back({row.text, scheduleCell(row.schedule), row.device, row.precision,
                         std::to_string(row.batch), nightText(row), percent(row.whole.miou()),
                         percent(summary.loss(row)), percent(row.whole.macc()), percent(row.whole.aacc()),
                         fixedCell(row.tokensKept(), 1), fixedCell(row.gflops(), 2),
                         fixedCell(row.gflopsDeviation(), 2), fixedCell(row.imagesPerSecond().perSecond, 2),
                         fixedCell(row.imagesPerSecond().standardError, 2),
                         fixedCell(row.mergeMs + row.restoreMs, 2), std::to_string(row.images())});
        if (paper) addPaper(summary, row, cells.back());
    }
    return markdownTable(cells);
}

std::string classTable(const EvalSummary& summary) {
    Cells cells = {{"IoU by class"}};
    for (const EvalRow& row : summary.rows)
        cells[0].push_back(rowName(summary, row));
    for (int id = 0; id < summary.rows.front().whole.classes(); ++id) {
        const bool named = id < static_cast<int>(summary.classNames.size());
        cells.push_back({named ? summary.classNames[id] : "class " + std::to_string(id)});
        for (const EvalRow& row : summary.rows)
            cells.back().push_back(percent(row.whole.iou()[id]));
    }
    return markdownTable(cells);
}

std::string regionTable(const EvalSummary& summary) {
    Cells cells = {
        {"method", "mIoU at boundaries", "inside", "pixels right in small objects", "medium", "large"}};
    for (const EvalRow& row : summary.rows)
        cells.push_back({rowName(summary, row), percent(row.classes.band.miou()),
                         percent(row.classes.interior.miou()), percent(row.objects.recall(0)),
                         percent(row.objects.recall(1)), percent(row.objects.recall(2))});
    return markdownTable(cells);
}

std::string reuseSummary(const EvalSummary& summary) {
    std::string text;
    for (const EvalRow& row : summary.rows) {
        const EvalRow* base = summary.baseOf(row);
        if (row.reuse.forwards == 0 || base == nullptr) continue;
        text += reuseText({rowName(summary, row), row.meanMs, base->meanMs, row.gflops(), base->gflops()},
                          row.reuse, row.agreement);
    }
    return text;
}

std::string pairTable(const EvalSummary& summary) {
    const std::vector<pipeline::DayNightPair> pairs = pairsOf(summary);
    if (pairs.empty()) return {};
    Cells cells = {{"method", "night", "mIoU day", "night", "loss day", "night", "tokens left day", "night",
                    "merged, night against day", "+-"}};
    for (const pipeline::DayNightPair& pair : pairs)
        cells.push_back({pair.day->text, nightText(*pair.night).substr(6), percent(pair.day->whole.miou()),
                         percent(pair.night->whole.miou()), percent(summary.loss(*pair.day)),
                         percent(summary.loss(*pair.night)), fixedCell(pair.day->tokensKept(), 1),
                         fixedCell(pair.night->tokensKept(), 1), percent(pair.change) + " %",
                         percent(pair.standardError)});
    return markdownTable(cells);
}

std::string tuningTable(const EvalSummary& summary) {
    Cells cells = {{"tuned by day", "loss by day", "GFLOPs", "the same by night: loss", "GFLOPs",
                    "tuned by night", "loss by night", "GFLOPs"}};
    for (const pipeline::Tuned& t : pipeline::tunedByDay(summary))
        cells.push_back({t.day->text, percent(summary.loss(*t.day)), fixedCell(t.day->gflops(), 2),
                         percent(summary.loss(*t.night)), fixedCell(t.night->gflops(), 2), t.best->text,
                         percent(summary.loss(*t.best)), fixedCell(t.best->gflops(), 2)});
    return cells.size() > 1 ? markdownTable(cells) : std::string();
}

std::string evalCsv(const EvalSummary& summary) {
    std::ostringstream csv;
    csv << "parameters,schedule,device,precision,batch,light,miou,loss,macc,aacc,tokens_kept,gflops,"
           "gflops_deviation,images_per_second,stderr,ms,encoder_ms,merge_ms,restore_ms,miou_boundary,"
           "miou_interior,small_objects,medium_objects,large_objects,images";
    for (int id = 0; id < summary.rows.front().whole.classes(); ++id) {
        const bool named = id < static_cast<int>(summary.classNames.size());
        csv << ',' << csvField("iou " + (named ? summary.classNames[id] : std::to_string(id)));
    }
    csv << '\n';
    const auto without = [](std::string text, char comma, char instead) {
        std::replace(text.begin(), text.end(), comma, instead);
        return text;
    };
    for (const EvalRow& row : summary.rows) {
        csv << csvField(row.text) << ',' << without(blocksText(row.schedule), ',', '+') << ','
            << csvField(row.device) << ',' << csvField(row.precision) << ',' << row.batch << ','
            << csvField(without(nightText(row), ',', ' '));
        std::vector<double> values = {row.whole.miou(),
                                      summary.loss(row),
                                      row.whole.macc(),
                                      row.whole.aacc(),
                                      row.tokensKept(),
                                      row.gflops(),
                                      row.gflopsDeviation(),
                                      row.imagesPerSecond().perSecond,
                                      row.imagesPerSecond().standardError,
                                      row.ms,
                                      row.encoderMs,
                                      row.mergeMs,
                                      row.restoreMs,
                                      row.classes.band.miou(),
                                      row.classes.interior.miou(),
                                      row.objects.recall(0),
                                      row.objects.recall(1),
                                      row.objects.recall(2),
                                      double(row.images())};
        for (double iou : row.whole.iou())
            values.push_back(iou);
        for (double value : values)
            csv << ',' << (std::isfinite(value) ? cv::format("%.9g", value) : std::string());
        csv << '\n';
    }
    return csv.str();
}

}  // namespace mpm::cli
