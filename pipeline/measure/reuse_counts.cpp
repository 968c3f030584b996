#include "pipeline/measure/reuse_counts.hpp"

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
    if (a.type() != b.type()) {  // either has no id above 255
        labels.convertTo(a, CV_16U);
        others.convertTo(b, CV_16U);
    }
    cv::compare(a, b, same, cv::CMP_EQ);
    return static_cast<double>(cv::countNonZero(same)) / static_cast<double>(same.total());
}

}  // namespace mpm::pipeline
