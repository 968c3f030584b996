#include "pipeline/draw/labels.hpp"

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

namespace mpm::pipeline {

namespace {

void checkLabels(const cv::Mat& labels) {
    const bool fits = labels.type() == CV_8U || labels.type() == CV_16U;
    CV_Check(labels.type(), fits, "labels: expected one channel of 8 or 16 bits");
}

int labelAt(const cv::Mat& labels, int y, int x) {
    return labels.type() == CV_8U ? labels.at<uchar>(y, x) : labels.at<ushort>(y, x);
}

/// Returns a mask: 255 at each pixel whose neighbour to the right or below has another class, else 0.
cv::Mat classBorders(const cv::Mat& labels) {
    cv::Mat border = cv::Mat::zeros(labels.size(), CV_8U);
    cv::Mat differs;
    if (labels.cols > 1) {
        cv::compare(labels.colRange(1, labels.cols), labels.colRange(0, labels.cols - 1), differs,
                    cv::CMP_NE);
        differs.copyTo(border.colRange(0, labels.cols - 1));
    }
    if (labels.rows > 1) {
        cv::compare(labels.rowRange(1, labels.rows), labels.rowRange(0, labels.rows - 1), differs,
                    cv::CMP_NE);
        cv::Mat above = border.rowRange(0, labels.rows - 1);
        cv::bitwise_or(above, differs, above);
    }
    return border;
}

/// Fades the colours of pixels with low scores: multiplies the colour's share by the square of the score. A
/// score of 0.5 keeps a quarter of the colour.
void fadeUnsure(cv::Mat& overlay, const cv::Mat& image, const cv::Mat& scores) {
    CV_CheckTypeEQ(scores.type(), CV_32F, "scores: expected CV_32F");
    CV_Check(scores.cols, scores.size() == image.size(), "scores: expected the size of the image");
    for (int y = 0; y < overlay.rows; ++y) {
        auto* drawn = overlay.ptr<cv::Vec3b>(y);
        const auto* below = image.ptr<cv::Vec3b>(y);
        const auto* score = scores.ptr<float>(y);
        for (int x = 0; x < overlay.cols; ++x)
            for (int c = 0; c < 3; ++c)
                drawn[x][c] = cv::saturate_cast<uchar>(
                    below[x][c] + (float(drawn[x][c]) - float(below[x][c])) * score[x] * score[x]);
    }
}

cv::Mat hiddenMask(const cv::Mat& labels, const std::vector<bool>& hidden) {
    cv::Mat table(1, labels.type() == CV_8U ? 256 : 65536, CV_8U, cv::Scalar(0));
    for (size_t id = 0; id < hidden.size() && id < size_t(table.cols); ++id)
        table.at<uchar>(id) = hidden[id] ? 255 : 0;
    cv::Mat mask(labels.size(), CV_8U);
    for (int y = 0; y < labels.rows; ++y)
        for (int x = 0; x < labels.cols; ++x)
            mask.at<uchar>(y, x) = table.at<uchar>(labelAt(labels, y, x));
    return mask;
}

template <typename Id>
void countIds(const cv::Mat& labels, const cv::Mat& seen, std::vector<std::int64_t>& counts) {
    for (int y = 0; y < labels.rows; ++y) {
        const Id* ids = labels.ptr<Id>(y);
        const uchar* counted = seen.empty() ? nullptr : seen.ptr<uchar>(y);
        for (int x = 0; x < labels.cols; ++x)
            if (counted == nullptr || counted[x] != 0) ++counts[ids[x]];
    }
}

}  // namespace

cv::Mat colourLabels(const cv::Mat& labels, const Palette& palette) {
    checkLabels(labels);
    std::vector<cv::Vec3b> table(labels.type() == CV_8U ? 256 : 65536, cv::Vec3b(0, 0, 0));
    for (size_t id = 0; id < std::min(palette.size(), table.size()); ++id)
        table[id] = {palette[id][2], palette[id][1], palette[id][0]};
    cv::Mat colours(labels.size(), CV_8UC3);
    for (int y = 0; y < labels.rows; ++y) {
        auto* row = colours.ptr<cv::Vec3b>(y);
        for (int x = 0; x < labels.cols; ++x)
            row[x] = table[labelAt(labels, y, x)];
    }
    return colours;
}

cv::Mat drawOverlay(const cv::Mat& image, const cv::Mat& labels, const Palette& palette,
                    const OverlayStyle& style, const cv::Mat& scores) {
    CV_CheckTypeEQ(image.type(), CV_8UC3, "image: expected 8-bit BGR");
    CV_Check(labels.cols, labels.size() == image.size(), "labels: expected the size of the image");
    cv::Mat overlay;
    cv::addWeighted(colourLabels(labels, palette), style.opacity, image, 1 - style.opacity, 0, overlay);
    if (style.outlines) {
        cv::Mat darker;
        overlay.convertTo(darker, -1, 0.35);
        darker.copyTo(overlay, classBorders(labels));
    }
    if (style.confidence && !scores.empty()) fadeUnsure(overlay, image, scores);
    if (!style.hidden.empty()) image.copyTo(overlay, hiddenMask(labels, style.hidden));
    return overlay;
}

void drawMasked(cv::Mat& image, const cv::Mat& seen) {
    CV_CheckTypeEQ(image.type(), CV_8UC3, "image: expected 8-bit BGR");
    if (seen.empty()) return;
    CV_CheckTypeEQ(seen.type(), CV_8U, "seen: expected CV_8U");
    CV_Check(seen.cols, seen.size() == image.size(), "seen: expected the image's size");
    const int step = std::max(8, image.rows / 40);
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x)
            if (seen.at<uchar>(y, x) == 0)
                image.at<cv::Vec3b>(y, x) = cv::Vec3b::all((x + y) % step < step / 8 + 1 ? 72 : 0);
}

std::vector<double> classShares(const cv::Mat& labels, int classes, const cv::Mat& seen) {
    checkLabels(labels);
    if (!seen.empty()) CV_Check(seen.cols, seen.size() == labels.size(), "seen: expected the labels' size");
    const std::int64_t all =
        seen.empty() ? static_cast<std::int64_t>(labels.total()) : cv::countNonZero(seen);
    if (all == 0 && !labels.empty()) return {};
    std::vector<std::int64_t> counts(labels.type() == CV_8U ? 256 : 65536, 0);
    if (labels.type() == CV_8U)
        countIds<uchar>(labels, seen, counts);
    else
        countIds<ushort>(labels, seen, counts);
    std::vector<double> shares(std::max(classes, 0), 0.0);
    for (size_t id = 0; id < std::min(shares.size(), counts.size()); ++id)
        shares[id] = labels.empty() ? 0 : double(counts[id]) / double(all);
    return shares;
}

}  // namespace mpm::pipeline
