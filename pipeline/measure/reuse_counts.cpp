#include "pipeline/measure/reuse_counts.hpp"

#include <algorithm>

namespace mpm::pipeline {

void ReuseCounts::add(const mpm::ReuseReport& report) {
    if (report.state == mpm::ReuseState::Off) return;
    ++forwards;
    full += report.state == mpm::ReuseState::Full;
    suspended += report.state == mpm::ReuseState::Suspended;
    recomputed += report.recomputed;
}

ReuseCounts& ReuseCounts::operator+=(const ReuseCounts& other) {
    forwards += other.forwards;
    full += other.full;
    suspended += other.suspended;
    recomputed += other.recomputed;
    return *this;
}

double shareOfEqual(const cv::Mat& labels, const cv::Mat& others) {
    cv::Mat a = labels, b = others, same;
    if (a.type() != b.type()) {  // one image is CV_8U, the other CV_16U
        labels.convertTo(a, CV_16U);
        others.convertTo(b, CV_16U);
    }
    cv::compare(a, b, same, cv::CMP_EQ);
    return static_cast<double>(cv::countNonZero(same)) / static_cast<double>(same.total());
}

void TokenMeans::add(const mpm::ImageReport& report, bool mapGiven) {
    add(report.tokens);
    if (m_schedule.empty()) m_schedule = scheduleOf(report, mapGiven);
}

void TokenMeans::add(const std::vector<int>& tokens) {
    m_sums.resize(std::max(m_sums.size(), tokens.size()), 0.0);
    for (size_t block = 0; block < tokens.size(); ++block)
        m_sums[block] += tokens[block];
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
