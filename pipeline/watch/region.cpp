#include "pipeline/watch/region.hpp"

#include <set>

#include <opencv2/imgproc.hpp>

#include "pipeline/draw/labels.hpp"

namespace mpm::pipeline {

namespace {

constexpr int kShift = 4;  // fillPoly's sub-pixel bits

std::vector<cv::Point> inPixels(const Polygon& outline, cv::Size size) {
    std::vector<cv::Point> points;
    for (const cv::Point2d& corner : outline)
        points.emplace_back(cvRound((corner.x * size.width - 0.5) * (1 << kShift)),
                            cvRound((corner.y * size.height - 0.5) * (1 << kShift)));
    return points;
}

void fill(cv::Mat& image, const Polygon& outline, const cv::Scalar& colour) {
    if (outline.size() < 3) return;
    cv::fillPoly(image, std::vector<std::vector<cv::Point>>{inPixels(outline, image.size())}, colour,
                 cv::LINE_8, kShift);
}

}  // namespace

bool contains(const Polygon& outline, cv::Point2d point) {
    bool inside = false;
    for (std::size_t i = 0, j = outline.size() - 1; i < outline.size(); j = i++) {
        const cv::Point2d &a = outline[i], &b = outline[j];
        if ((a.y > point.y) == (b.y > point.y)) continue;
        if (point.x < a.x + (b.x - a.x) * (point.y - a.y) / (b.y - a.y)) inside = !inside;
    }
    return inside;
}

RegionReading readRegion(const Region& region, const cv::Mat& labels, const cv::Mat& map, cv::Size grid,
                         int classes, const cv::Mat& seen) {
    CV_Check(labels.type(), labels.empty() || labels.type() == CV_8U || labels.type() == CV_16U,
             "labels: expected 8-bit or 16-bit ids");
    CV_Check(map.total(), static_cast<int>(map.total()) == grid.area(),
             "map: expected one cluster for each place of the grid");
    RegionReading reading;
    reading.name = region.name;
    std::set<int> tokens;
    for (int i = 0; i < grid.area(); ++i) {
        const cv::Point2d middle((i % grid.width + 0.5) / grid.width, (i / grid.width + 0.5) / grid.height);
        if (!contains(region.outline, middle)) continue;
        ++reading.patches;
        tokens.insert(map.at<int>(i));
    }
    reading.tokens = static_cast<int>(tokens.size());
    if (labels.empty()) return reading;
    cv::Mat mask = cv::Mat::zeros(labels.size(), CV_8U);
    fill(mask, region.outline, cv::Scalar(255));
    if (!seen.empty()) cv::bitwise_and(mask, seen, mask);
    reading.classShares = classShares(labels, classes, mask);
    return reading;
}

cv::Mat seenThrough(const std::vector<Polygon>& masks, cv::Size size) {
    if (masks.empty()) return {};
    cv::Mat seen(size, CV_8U, cv::Scalar(255));
    for (const Polygon& mask : masks)
        fill(seen, mask, cv::Scalar(0));
    return seen;
}

void applyMasks(cv::Mat& image, const std::vector<Polygon>& masks) {
    for (const Polygon& mask : masks)
        fill(image, mask, cv::Scalar::all(0));
}

}  // namespace mpm::pipeline
