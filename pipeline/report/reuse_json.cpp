#include "pipeline/report/report.hpp"

#include <algorithm>

#include "base/statistics.hpp"

namespace mpm::pipeline {

Json reuseJson(const ReuseCounts& reuse) {
    if (reuse.forwards == 0) return nullptr;
    return {{"recomputed", reuse.meanRecomputed()},
            {"full", reuse.fullShare()},
            {"suspended", reuse.suspendedShare()}};
}

Json agreementJson(const std::vector<double>& agreement) {
    if (agreement.empty()) return nullptr;
    return {{"mean", mean(agreement)}, {"worst", *std::min_element(agreement.begin(), agreement.end())}};
}

}  // namespace mpm::pipeline
