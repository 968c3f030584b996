#include "pipeline/measure/token_means.hpp"

#include <algorithm>

namespace mpm::pipeline {

void TokenMeans::add(const mpm::ImageReport& report) {
    m_sums.resize(std::max(m_sums.size(), report.tokens.size()), 0.0);
    for (size_t block = 0; block < report.tokens.size(); ++block)
        m_sums[block] += report.tokens[block];
    if (m_schedule.empty())
        for (const mpm::Stage& stage : report.stages)
            m_schedule.push_back(stage.block);
    ++m_images;
}

std::vector<double> TokenMeans::means() const {
    std::vector<double> means = m_sums;
    for (double& value : means)
        value /= std::max(m_images, 1);
    return means;
}

int tokensKept(const mpm::ImageReport& report) {
    return report.stages.empty() ? static_cast<int>(report.map.total()) : report.stages.back().tokens;
}

}  // namespace mpm::pipeline
