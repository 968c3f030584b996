#include "pipeline/draw/feature_colours.hpp"

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

namespace mpm::pipeline {

namespace {

constexpr int kSamples = 256;                   // approximate number of sampled tokens of each frame
constexpr int kFirstRounds = 40, kRounds = 12;  // iterations from random and from previous axes
constexpr double kOutliers = 0.02;              // share of tokens cut off at each end of an axis
constexpr double kNoVariance = 1e-9;            // least variance of a frame to learn from

/// Scales rows to length 1, because a few tokens of a ViT are many times longer and would dominate.
cv::Mat unitRows(const cv::Mat& features) {
    cv::Mat unit = features.clone();
    for (int i = 0; i < unit.rows; ++i) {
        const double length = cv::norm(unit.row(i));
        if (length > 0 && std::isfinite(length))
            unit.row(i) *= 1 / length;
        else
            unit.row(i) = 0;
    }
    return unit;
}

cv::Mat centred(const cv::Mat& rows, const cv::Mat& mean) {
    cv::Mat result(rows.size(), CV_32F);
    for (int i = 0; i < rows.rows; ++i)
        cv::subtract(rows.row(i), mean, result.row(i));
    return result;
}

/// Makes columns orthonormal by Gram-Schmidt, twice for accuracy. A column of length 0 becomes zero.
void makeOrthonormal(cv::Mat& columns) {
    for (int round = 0; round < 2; ++round)
        for (int i = 0; i < columns.cols; ++i) {
            cv::Mat column = columns.col(i).clone();
            for (int k = 0; k < i; ++k)
                column -= columns.col(k) * columns.col(k).dot(column);
            const double length = cv::norm(column);
            column.convertTo(columns.col(i), CV_32F, length > 1e-12 ? 1 / length : 0);
        }
}

/// Finds the three directions of largest variance by orthogonal iteration. Iterates with five columns,
/// because two additional columns speed up the convergence.
cv::Mat principalAxes(const cv::Mat& rows, const cv::Mat& start) {
    const int width = rows.cols, wanted = std::min(3, width), columns = std::min(5, width);
    cv::Mat axes(width, columns, CV_32F);
    cv::RNG(1).fill(axes, cv::RNG::NORMAL, 0, 1);
    if (!start.empty()) start.copyTo(axes.colRange(0, start.cols));
    makeOrthonormal(axes);
    for (int round = 0; round < (start.empty() ? kFirstRounds : kRounds); ++round) {
        axes = rows.t() * (rows * axes);
        makeOrthonormal(axes);
    }
    const cv::Mat projected = rows * axes;
    cv::Mat values, vectors;
    cv::eigen(projected.t() * projected, values, vectors);
    return axes * vectors.rowRange(0, wanted).t();
}

/// Rotates the axes, within the space that they span, as near as possible to the previous axes. Colours then
/// change least.
cv::Mat turnedTo(const cv::Mat& axes, const cv::Mat& before) {
    cv::Mat values, left, right;
    cv::SVD::compute(axes.t() * before, values, left, right);
    return axes * (left * right);
}

/// Makes the largest element of each axis positive, so that the sign of the axis does not depend on rounding.
void fixSigns(cv::Mat& axes) {
    for (int i = 0; i < axes.cols; ++i) {
        double least = 0, most = 0;
        cv::minMaxLoc(axes.col(i), &least, &most);
        if (-least > most) axes.col(i) *= -1;
    }
}

}  // namespace

void FeatureColours::learn(const cv::Mat& unit) {
    const int step = std::max(1, unit.rows / kSamples);
    for (int i = 0; i < unit.rows; i += step)
        m_samples.push_back(unit.row(i));
    cv::reduce(m_samples, m_mean, 0, cv::REDUCE_AVG);
    const cv::Mat rows = centred(m_samples, m_mean);
    cv::Mat axes = principalAxes(rows, m_axes);
    if (m_axes.empty())
        fixSigns(axes);
    else
        axes = turnedTo(axes, m_axes);
    m_axes = axes;
    const cv::Mat along = (rows * m_axes).t();
    for (int axis = 0; axis < m_axes.cols; ++axis) {
        cv::Mat sorted;
        cv::sort(along.row(axis), sorted, cv::SORT_EVERY_ROW | cv::SORT_ASCENDING);
        const int cut = int(kOutliers * sorted.cols);
        m_least[axis] = sorted.at<float>(cut);
        m_most[axis] = sorted.at<float>(sorted.cols - 1 - cut);
    }
    ++m_frames;
    if (settled()) m_samples.release();
}

cv::Mat FeatureColours::colours(const cv::Mat& features, cv::Size grid, bool learns) {
    CV_CheckTypeEQ(features.type(), CV_32F, "features: expected CV_32F");
    CV_CheckEQ(features.rows, grid.area(), "features: expected one row for each patch of the grid");
    const cv::Mat unit = unitRows(features);
    if (!settled() && (learns || m_axes.empty())) {
        cv::Mat mean;
        cv::reduce(unit, mean, 0, cv::REDUCE_AVG);
        const cv::Mat rows = centred(unit, mean);
        if (rows.dot(rows) > kNoVariance * rows.rows) learn(unit);
    }
    cv::Mat colours(grid, CV_8UC3, cv::Scalar::all(128));
    if (m_axes.empty()) return colours;
    CV_CheckEQ(features.cols, m_mean.cols, "features: expected the width of the frames before");
    const cv::Mat along = centred(unit, m_mean) * m_axes;
    for (int i = 0; i < along.rows; ++i)
        for (int axis = 0; axis < along.cols; ++axis) {
            const float range = std::max(1e-9f, m_most[axis] - m_least[axis]);
            const float value = (along.at<float>(i, axis) - m_least[axis]) / range;
            colours.at<cv::Vec3b>(i / grid.width, i % grid.width)[2 - axis] =
                cv::saturate_cast<uchar>(255 * std::clamp(value, 0.f, 1.f));
        }
    return colours;
}

cv::Mat drawFeatures(const cv::Mat& image, const cv::Mat& colours, double opacity) {
    CV_CheckTypeEQ(image.type(), CV_8UC3, "image: expected 8-bit BGR");
    CV_CheckTypeEQ(colours.type(), CV_8UC3, "colours: expected 8-bit BGR");
    cv::Mat large, drawn;
    cv::resize(colours, large, image.size(), 0, 0, cv::INTER_LINEAR);
    cv::addWeighted(large, opacity, image, 1 - opacity, 0, drawn);
    return drawn;
}

}  // namespace mpm::pipeline
