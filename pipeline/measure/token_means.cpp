#include "pipeline/measure/reuse_counts.hpp"

#include <algorithm>

namespace mpm::pipeline {

void TokenMeans::add(const mpm::ImageReport& report, bool mapGiven) {
    m_sums.resize(std::max(m_sums.size(), report.tokens.size()), 0.0);
    for (size_t block = 0; block < report.tokens.size(); ++block)
        m_sums[block] += report.tokens[block];
    if (m_schedule.empty()) m_schedule = scheduleOf(report, mapGiven);
    ++m_images;
}

std::vector<double> TokenMeans::means() const {
    std::vector<double> means = m_sums;
    for (double& value : means)
        value /= std::max(m_images, 1);
    return means;
}

std::vector<int> scheduleOf(const mpm::ImageReport& report, bool mapGiven) {
    std::vector<int> schedule;
    for (size_t stage = mapGiven ? 1 : 0; stage < report.stages.size(); ++stage)
        schedule.push_back(report.stages[stage].block);
    return schedule;
}

int tokensKept(const mpm::ImageReport& report) {
    return report.stages.empty() ? static_cast<int>(report.map.total()) : report.stages.back().tokens;
}

}  // namespace mpm::pipeline
