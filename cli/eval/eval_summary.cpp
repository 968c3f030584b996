#include "cli/eval/eval_summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/statistics.hpp"

namespace mpm::cli {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

EvalRow emptyRow(const Json& setting, int classes, int ignored) {
    EvalRow row{setting.at("method"),
                setting.at("parameters"),
                {},
                setting.at("precision"),
                setting.at("batch"),
                std::nullopt,
                {},
                pipeline::SplitConfusion(classes, ignored),
                pipeline::Confusion(classes, ignored),
                {},
                {},
                {},
                {},
                {},
                {},
                {},
                {},
                {}};
    const Json& night = setting.at("night");
    if (!night.is_null()) row.night = night.get<std::vector<double>>();
    return row;
}

/// Sums of whole numbers, divided once: the order of pictures leaves no trace.
class TokenSums {
public:
    void add(const PictureCounts& picture) {
        for (const std::vector<int>& window : picture.windows) {
            m_sums.resize(std::max(m_sums.size(), window.size()), 0);
            for (size_t block = 0; block < window.size(); ++block)
                m_sums[block] += window[block];
            ++m_windows;
        }
    }
    std::vector<double> means() const {
        std::vector<double> means;
        for (std::int64_t sum : m_sums)
            means.push_back(double(sum) / double(std::max<std::int64_t>(m_windows, 1)));
        return means;
    }

private:
    std::vector<std::int64_t> m_sums;
    std::int64_t m_windows = 0;
};

void addPicture(EvalRow& row, const PictureCounts& picture) {
    const pipeline::Confusion whole = picture.classes.whole();
    row.classes += picture.classes;
    row.whole += whole;
    row.objects += picture.objects;
    pipeline::addCounts(row.joins, picture.joins);
    row.operations.push_back(picture.operations);
    row.kept.push_back(picture.kept);
    double entering = 0;
    for (const std::vector<int>& window : picture.windows)
        entering += window.empty() ? 0 : window.front();
    row.entering.push_back(entering);
    row.pictureMiou.push_back(whole.miou());
    row.pictureAacc.push_back(whole.aacc());
}

void addTimes(EvalRow& row, pipeline::ProtocolTimes& sum, const GroupRow& group) {
    sum.images += group.times.images;
    sum.network += group.times.network;
    sum.encoder += group.times.encoder;
    sum.merge += group.times.merge;
    sum.restore += group.times.restore;
    row.rates.push_back(1000 * double(group.pictures.size()) / group.times.network);
}

EvalRow summarise(const Counts& counts, size_t setting) {
    EvalRow row = emptyRow(counts.head.at("settings").at(setting), counts.classes(), counts.ignored());
    TokenSums tokens;
    pipeline::ProtocolTimes times;
    for (const Group& group : counts.groups) {
        if (setting >= group.rows.size()) continue;  // none of its pictures could be used
        const GroupRow& part = group.rows[setting];
        row.device = part.device, row.precision = part.precision, row.schedule = part.schedule;
        addTimes(row, times, part);
        for (const PictureCounts& picture : part.pictures) {
            tokens.add(picture);
            addPicture(row, picture);
        }
    }
    row.tokens = tokens.means();
    const double pictures = std::max(row.images(), 1);
    row.ms = times.network / pictures, row.encoderMs = times.encoder / pictures;
    row.mergeMs = times.merge / pictures, row.restoreMs = times.restore / pictures;
    row.windowsPerSecond = times.network > 0 ? 1000 * double(times.images) / times.network : 0;
    return row;
}

}  // namespace

double EvalRow::gflops() const {
    return mean(operations) / 1e9;
}

double EvalRow::gflopsDeviation() const {
    return deviation(operations) / 1e9;
}

double EvalRow::tokensKept() const {
    return mean(kept);
}

double EvalRow::imagesPerSecond() const {
    return mean(rates);
}

double EvalRow::standardError() const {
    return deviation(rates) / std::sqrt(double(std::max<size_t>(rates.size(), 1)));
}

EvalSummary::EvalSummary(const Counts& counts) : head(counts.head) {
    head.at("classes").get_to(classNames);
    std::set<std::string> precisions, lights;
    std::set<int> batches;
    for (size_t setting = 0; setting < head.at("settings").size(); ++setting) {
        rows.push_back(summarise(counts, setting));
        precisions.insert(rows.back().precision);
        batches.insert(rows.back().batch);
        lights.insert(head.at("settings").at(setting).at("night").dump());
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

std::vector<Pair> pairsOf(const EvalSummary& summary) {
    std::vector<Pair> pairs;
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

}  // namespace mpm::cli
