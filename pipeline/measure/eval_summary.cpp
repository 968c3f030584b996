#include "pipeline/measure/eval_summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace mpm::pipeline {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

EvalRow emptyRow(const SettingHead& setting, int classes, int ignored) {
    EvalRow row(classes, ignored);
    row.method = setting.method, row.text = setting.parameters, row.precision = setting.precision;
    row.batch = setting.batch;
    row.night = setting.night;
    return row;
}

void addImage(EvalRow& row, const ImageCounts& image) {
    const Confusion whole = image.classes.whole();
    row.classes += image.classes;
    row.whole += whole;
    row.objects += image.objects;
    addCounts(row.joins, image.joins);
    row.operations.push_back(image.operations);
    row.kept.push_back(image.kept);
    double entering = 0;
    for (const std::vector<int>& window : image.windows)
        entering += window.empty() ? 0 : window.front();
    row.entering.push_back(entering);
    row.imageMiou.push_back(whole.miou());
    row.imageAacc.push_back(whole.aacc());
    row.reuse += image.reuse;
    if (std::isfinite(image.agreement)) row.agreement.push_back(image.agreement);
}

/// The milliseconds of an image, by group.
struct ImageTimes {
    std::vector<double> network, encoder, merge, restore;
    double windows = 0;
};

void addTimes(EvalRow& row, ImageTimes& times, const GroupRow& group) {
    const auto images = static_cast<double>(group.images.size());
    if (group.images.empty()) return;
    times.network.push_back(group.times.network / images);
    times.encoder.push_back(group.times.encoder / images);
    times.merge.push_back(group.times.merge / images);
    times.restore.push_back(group.times.restore / images);
    times.windows += group.times.images;
    row.groupImages.push_back(images);
    row.groupMs.push_back(group.times.network);
}

/// 0 without groups.
double median(const std::vector<double>& values) {
    return values.empty() ? 0 : quantile(values, 0.5);
}

EvalRow summarise(const EvalCounts& counts, size_t setting) {
    EvalRow row = emptyRow(counts.head.settings.at(setting), counts.head.classCount, counts.head.ignored);
    TokenMeans tokens;
    ImageTimes times;
    for (const Group& group : counts.groups) {
        if (setting >= group.rows.size()) continue;  // no image of the group could be used
        const GroupRow& part = group.rows[setting];
        row.device = part.device, row.precision = part.precision, row.schedule = part.schedule;
        addTimes(row, times, part);
        for (const ImageCounts& image : part.images) {
            for (const std::vector<int>& window : image.windows)
                tokens.add(window);
            addImage(row, image);
        }
    }
    row.tokens = tokens.means();
    const double total = std::accumulate(row.groupMs.begin(), row.groupMs.end(), 0.0);
    row.ms = median(times.network), row.encoderMs = median(times.encoder);
    row.mergeMs = median(times.merge), row.restoreMs = median(times.restore);
    row.meanMs = total / std::max(row.images(), 1);
    row.windowsPerSecond = total > 0 ? 1000 * times.windows / total : 0;
    return row;
}

}  // namespace

EvalSummary::EvalSummary(const EvalCounts& counts) : head(counts.head), classNames(counts.head.classes) {
    std::set<std::string> precisions;
    std::set<std::optional<std::vector<double>>> lights;
    std::set<int> batches;
    for (size_t setting = 0; setting < head.settings.size(); ++setting) {
        rows.push_back(summarise(counts, setting));
        precisions.insert(rows.back().precision);
        batches.insert(rows.back().batch);
        lights.insert(head.settings[setting].night);
    }
    severalPrecisions = precisions.size() > 1;
    severalBatches = batches.size() > 1;
    severalLights = lights.size() > 1;
    for (const Group& group : counts.groups) {
        names.insert(names.end(), group.names.begin(), group.names.end());
        leftOut.insert(leftOut.end(), group.leftOut.begin(), group.leftOut.end());
    }
}

const EvalRow* EvalSummary::baseOf(const EvalRow& row) const {
    for (const EvalRow& other : rows)
        if (other.method == "none" && other.night == row.night && other.precision == row.precision &&
            other.batch == row.batch)
            return &other;
    return nullptr;
}

double EvalSummary::loss(const EvalRow& row) const {
    const EvalRow* base = baseOf(row);
    return base != nullptr ? base->whole.miou() - row.whole.miou() : kUnknown;
}

std::vector<DayNightPair> pairsOf(const EvalSummary& summary) {
    std::vector<DayNightPair> pairs;
    for (const EvalRow& day : summary.rows)
        for (const EvalRow& night : summary.rows) {
            const bool one = !day.night && night.night && day.text == night.text &&
                             day.precision == night.precision && day.batch == night.batch;
            if (!one) continue;
            std::vector<double> changes;
            for (size_t i = 0; i < day.kept.size() && i < night.kept.size(); ++i) {
                const double merged = day.entering[i] - day.kept[i];
                if (merged > 0) changes.push_back((night.entering[i] - night.kept[i]) / merged - 1);
            }
            const double spread = deviation(changes) / std::sqrt(double(std::max<size_t>(changes.size(), 1)));
            pairs.push_back({&day, &night, mean(changes), spread});
        }
    return pairs;
}

}  // namespace mpm::pipeline
