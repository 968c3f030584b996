#include "pipeline/measure/eval_summary.hpp"

#include <algorithm>

namespace mpm::pipeline {

namespace {

/// Day rows of a family with their counterparts by night.
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

}  // namespace mpm::pipeline
