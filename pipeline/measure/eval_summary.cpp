#include "pipeline/measure/eval_summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <locale>
#include <numeric>
#include <set>
#include <sstream>

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
    const SplitConfusion classes = image.classes.in(row.whole.classes(), row.whole.ignored());
    const Confusion whole = classes.whole();
    row.classes += classes;
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

/// Milliseconds per image, by group, and the number of windows in all groups.
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

namespace {

/// All settings of a method: day[i] and night[i] are the rows of the same setting by day and by night.
struct Family {
    std::string name;
    std::vector<const EvalRow*> day, night;
};

std::vector<Family> familiesOf(const EvalSummary& summary) {
    std::vector<Family> families;
    for (const DayNightPair& pair : pairsOf(summary)) {
        if (pair.day->method == "none") continue;
        auto at = std::find_if(families.begin(), families.end(),
                               [&](const Family& f) { return f.name == pair.day->method; });
        if (at == families.end()) at = families.insert(families.end(), {pair.day->method, {}, {}});
        if (std::find(at->day.begin(), at->day.end(), pair.day) != at->day.end()) continue;  // a later night
        at->day.push_back(pair.day);
        at->night.push_back(pair.night);
    }
    return families;
}

size_t choose(const EvalSummary& summary, const std::vector<const EvalRow*>& rows, double budget) {
    size_t best = 0;
    for (size_t i = 1; i < rows.size(); ++i) {
        const double loss = summary.loss(*rows[i]), bestLoss = summary.loss(*rows[best]);
        const bool within = loss <= budget, bestWithin = bestLoss <= budget;
        if (within != bestWithin ? within
            : within             ? rows[i]->gflops() < rows[best]->gflops()
                                 : loss < bestLoss)
            best = i;
    }
    return best;
}

}  // namespace

std::vector<Tuned> tunedByDay(const EvalSummary& summary, double budget) {
    const std::vector<Family> families = familiesOf(summary);
    const bool several =
        std::any_of(families.begin(), families.end(), [](const Family& f) { return f.day.size() > 1; });
    std::vector<Tuned> tuned;
    for (const Family& family : families) {
        const bool based = summary.baseOf(*family.day.front()) != nullptr &&
                           summary.baseOf(*family.night.front()) != nullptr;
        if (!several || !based) continue;
        const size_t chosen = choose(summary, family.day, budget);
        tuned.push_back(
            {family.day[chosen], family.night[chosen], family.night[choose(summary, family.night, budget)]});
    }
    return tuned;
}

extern const char* const kPublishedCsv;  ///< the content of published.csv

namespace {

PublishedFigures figuresFrom(const std::string& line) {
    std::istringstream cells(line);
    // Uses the classic locale, because numbers have decimal points. Splits at commas: fields have no quotes.
    cells.imbue(std::locale::classic());
    PublishedFigures figures;
    char comma = 0;
    std::getline(cells, figures.dataset, ',');
    cells >> figures.width >> comma >> figures.patch >> comma;
    std::getline(cells, figures.method, ',');
    cells >> figures.miou >> comma >> figures.gflops >> comma >> figures.fps;
    CV_Assert(!cells.fail());
    return figures;
}

std::string methodOf(const EvalRow& row) {
    if (row.method != "mpm") return row.method;
    const bool plain = row.text.rfind("mpm", 0) == 0 && row.text.find('=') == std::string::npos;
    return plain && row.schedule == std::vector<int>{2, 5} ? "mpm:2+5" : "";
}

}  // namespace

const std::vector<PublishedFigures>& publishedFigures() {
    static const std::vector<PublishedFigures> all = [] {
        std::vector<PublishedFigures> figures;
        std::istringstream lines(kPublishedCsv);
        std::string line;
        std::getline(lines, line);  // names of the columns
        while (std::getline(lines, line))
            figures.push_back(figuresFrom(line));
        return figures;
    }();
    return all;
}

std::optional<PublishedFigures> publishedFor(const EvalHead& head, const EvalRow& row) {
    if (row.night || row.tokens.empty()) return std::nullopt;
    const double pixels = double(head.run.size.area());
    const int patch = static_cast<int>(std::lround(std::sqrt(pixels / row.tokens.front())));
    const std::vector<PublishedFigures>& all = publishedFigures();
    const auto found = std::find_if(all.begin(), all.end(), [&](const PublishedFigures& figures) {
        return figures.dataset == head.dataset && figures.width == head.width && figures.patch == patch &&
               figures.method == methodOf(row);
    });
    return found == all.end() ? std::nullopt : std::optional<PublishedFigures>(*found);
}

}  // namespace mpm::pipeline
