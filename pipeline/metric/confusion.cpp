#include "pipeline/metric/confusion.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "base/checked.hpp"

namespace mpm::pipeline {

namespace {

constexpr int kMostClasses = 4096;  // 134 MB of counts

size_t cellsOf(int classes) {
    if (classes < 1 || classes > kMostClasses)
        CV_Error(cv::Error::StsBadArg, "classes must be 1 to " + std::to_string(kMostClasses));
    return checkedProduct<size_t>(classes, classes + 1);
}

}  // namespace

Confusion::Confusion(int classes, int ignored)
    : m_classes(classes), m_ignored(ignored), m_counts(cellsOf(classes)) {}

static int idAt(const cv::Mat& ids, int y, int x) {
    return ids.depth() == CV_8U ? ids.at<uchar>(y, x) : ids.at<ushort>(y, x);
}

void Confusion::add(const cv::Mat& truth, const cv::Mat& prediction) {
    for (const cv::Mat* ids : {&truth, &prediction}) {
        if (ids->type() != CV_8UC1 && ids->type() != CV_16UC1) {
            CV_Error(cv::Error::StsUnsupportedFormat, "truth and prediction must be CV_8UC1 or CV_16UC1 ids");
        }
    }
    CV_CheckEQ(truth.rows, prediction.rows, "truth and prediction must be of one size");
    CV_CheckEQ(truth.cols, prediction.cols, "truth and prediction must be of one size");
    for (int y = 0; y < truth.rows; ++y) {
        for (int x = 0; x < truth.cols; ++x) {
            const int wanted = idAt(truth, y, x);
            if (wanted == m_ignored) continue;
            if (wanted >= m_classes) {
                CV_Error(cv::Error::StsOutOfRange, "truth holds id " + std::to_string(wanted) +
                                                       ", expected below " + std::to_string(m_classes) +
                                                       " or the ignored id");
            }
            const int got = std::min(idAt(prediction, y, x), m_classes);
            ++m_counts[static_cast<size_t>(wanted) * (m_classes + 1) + got];
        }
    }
}

std::vector<Confusion::Cell> Confusion::cells() const {
    std::vector<Cell> found;
    for (int truth = 0; truth < m_classes; ++truth)
        for (int predicted = 0; predicted <= m_classes; ++predicted)
            if (const int64_t count = at(truth, predicted)) found.push_back({truth, predicted, count});
    return found;
}

void Confusion::add(const Cell& cell) {
    CV_Check(cell.truth, cell.truth >= 0 && cell.truth < m_classes, "truth: expected a class");
    CV_Check(cell.predicted, cell.predicted >= 0 && cell.predicted <= m_classes,
             "predicted: expected a class, or one past the last");
    m_counts[static_cast<size_t>(cell.truth) * (m_classes + 1) + cell.predicted] += cell.count;
}

Confusion& Confusion::operator+=(const Confusion& other) {
    CV_CheckEQ(m_classes, other.m_classes, "only confusion matrices of the same classes add");
    for (size_t i = 0; i < m_counts.size(); ++i)
        m_counts[i] += other.m_counts[i];
    return *this;
}

int64_t Confusion::at(int truth, int predicted) const {
    CV_Assert(truth >= 0 && truth < m_classes && predicted >= 0 && predicted <= m_classes);
    return m_counts[static_cast<size_t>(truth) * (m_classes + 1) + predicted];
}

int64_t Confusion::truthTotal(int truth) const {
    int64_t total = 0;
    for (int predicted = 0; predicted <= m_classes; ++predicted)
        total += at(truth, predicted);
    return total;
}

int64_t Confusion::predictedTotal(int predicted) const {
    int64_t total = 0;
    for (int truth = 0; truth < m_classes; ++truth)
        total += at(truth, predicted);
    return total;
}

int64_t Confusion::pixels() const {
    int64_t total = 0;
    for (int64_t count : m_counts)
        total += count;
    return total;
}

static double ratio(int64_t part, int64_t whole) {
    return whole ? static_cast<double>(part) / static_cast<double>(whole)
                 : std::numeric_limits<double>::quiet_NaN();
}

static double meanOfPresent(const std::vector<double>& values) {
    double sum = 0;
    int count = 0;
    for (double value : values) {
        if (std::isnan(value)) continue;
        sum += value;
        ++count;
    }
    return count ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> Confusion::iou() const {
    std::vector<double> values;
    for (int id = 0; id < m_classes; ++id) {
        values.push_back(ratio(at(id, id), truthTotal(id) + predictedTotal(id) - at(id, id)));
    }
    return values;
}

std::vector<double> Confusion::accuracy() const {
    std::vector<double> values;
    for (int id = 0; id < m_classes; ++id)
        values.push_back(ratio(at(id, id), truthTotal(id)));
    return values;
}

double Confusion::miou() const {
    return meanOfPresent(iou());
}

double Confusion::macc() const {
    return meanOfPresent(accuracy());
}

double Confusion::aacc() const {
    int64_t right = 0;
    for (int id = 0; id < m_classes; ++id)
        right += at(id, id);
    return ratio(right, pixels());
}

}  // namespace mpm::pipeline
