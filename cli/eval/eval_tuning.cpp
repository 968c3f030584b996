#include "cli/eval/eval_tuning.hpp"

#include <algorithm>

#include "base/statistics.hpp"

namespace mpm::cli {

namespace {

/// Day rows of a family with their counterparts by night.
struct Family {
    std::string name;
    std::vector<const EvalRow*> day, night;
};

std::vector<Family> familiesOf(const EvalSummary& summary) {
    std::vector<Family> families;
    for (const Pair& pair : pairsOf(summary)) {
        if (pair.day->method == "none") continue;
        auto at = std::find_if(families.begin(), families.end(),
                               [&](const Family& f) { return f.name == pair.day->method; });
        if (at == families.end()) at = families.insert(families.end(), {pair.day->method, {}, {}});
        if (std::find(at->day.begin(), at->day.end(), pair.day) != at->day.end()) continue;  // another night
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
    std::vector<Tuned> tuned;
    for (const Family& family : familiesOf(summary)) {
        if (summary.baseOf(*family.day.front()) == nullptr ||
            summary.baseOf(*family.night.front()) == nullptr)
            continue;
        const size_t chosen = choose(summary, family.day, budget);
        tuned.push_back(
            {family.day[chosen], family.night[chosen], family.night[choose(summary, family.night, budget)]});
    }
    return tuned;
}

std::string tuningTable(const EvalSummary& summary, double budget) {
    const std::vector<Family> families = familiesOf(summary);
    const bool several =
        std::any_of(families.begin(), families.end(), [](const Family& f) { return f.day.size() > 1; });
    if (!several) return {};
    std::vector<std::vector<std::string>> cells = {{"tuned by day", "loss by day", "GFLOPs",
                                                    "the same by night: loss", "GFLOPs", "tuned by night",
                                                    "loss by night", "GFLOPs"}};
    for (const Tuned& t : tunedByDay(summary, budget))
        cells.push_back({t.day->text, fixedText(100 * summary.loss(*t.day), 2), fixedText(t.day->gflops(), 2),
                         fixedText(100 * summary.loss(*t.night), 2), fixedText(t.night->gflops(), 2),
                         t.best->text, fixedText(100 * summary.loss(*t.best), 2),
                         fixedText(t.best->gflops(), 2)});
    return cells.size() > 1 ? markdownTable(cells) : std::string();
}

}  // namespace mpm::cli
