// Average precision and recall of boxes or masks, with the same results as COCO's code.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// A mask as lengths of runs, column by column from top to bottom. The first run is outside the object, the
/// second inside, the third outside, and so on. The lengths add up to the number of pixels.
struct RunLengths {
    cv::Size size;
    std::vector<uint32_t> runs;

    int64_t area() const;  ///< number of pixels inside the object
    cv::Rect box() const;  ///< bounding box of the pixels inside; empty if there are none
    cv::Mat mask() const;  ///< CV_8U, 1 inside
};

/// @param runs numbers of pixels outside, inside, outside, ...
/// @throws cv::Exception if a run is negative, or the sum is not the number of pixels
RunLengths runLengths(cv::Size size, const std::vector<int64_t>& runs);
/// Converts a CV_8U mask: 0 is outside the object, any other value inside.
RunLengths runLengths(const cv::Mat& mask);

/// Reads COCO's compressed text. @throws cv::Exception if the text is damaged
RunLengths runLengthsFrom(cv::Size size, const std::string& text);
std::string runLengthsText(const RunLengths& mask);

/// Returns the union of polygons, which are lists x, y, x, y, ... Gives the same pixels as COCO's code, which
/// rounds outlines to fifths of a pixel. If a polygon has an odd number of values, ignores the last value.
/// @throws cv::Exception if a number is larger than 10^7, or if the outlines cross more than 2^24 columns
RunLengths runLengthsOf(const std::vector<std::vector<double>>& polygons, cv::Size size);

/// Returns the intersection divided by the union; if `crowd`, divided by the area of `found`. Returns -1 if
/// the sizes differ.
double overlap(const RunLengths& found, const RunLengths& truth, bool crowd);

/// A true object or a detection.
struct CocoObject {
    int64_t image = 0, category = 0;
    cv::Rect2d box;
    double area = 0;     ///< decides the range of areas; for a true object: the field `area` of the file
    double score = 0;    ///< of a detection
    bool crowd = false;  ///< never counts as missed, may match any number of detections
    bool counts = true;  ///< false for id 0: COCO's code does not count matches of such an object
    RunLengths mask;     ///< empty if boxes are compared
};

/// The detections of a category in an image, and the true objects that they match.
struct CocoMatches {
    static constexpr int kAreas = 4;        ///< all, small, medium, large
    static constexpr int kThresholds = 10;  ///< of the overlap: 0.50, 0.55, ... 0.95
    static constexpr int kMost = 100;       ///< largest number of detections; keeps the highest scores

    int64_t image = 0, category = 0;
    std::array<int64_t, kAreas> truth{};  ///< number of objects to be found, by range of areas
    std::vector<double> scores;           ///< largest first
    /// For each detection: bit kThresholds * i + j is for range of areas i and threshold j.
    std::vector<uint64_t> matched, ignored;
};

/// Matches true objects and detections of a category in an image, both in the order of their files. @throws
/// cv::Exception if there are more than 100,000 objects
CocoMatches cocoMatches(int64_t image, int64_t category, const std::vector<const CocoObject*>& truth,
                        const std::vector<const CocoObject*>& found);

/// Matches all objects of these images and categories, and ignores other objects.
std::vector<CocoMatches> cocoMatches(const std::vector<int64_t>& images,
                                     const std::vector<int64_t>& categories,
                                     const std::vector<CocoObject>& truth,
                                     const std::vector<CocoObject>& found);

constexpr std::array<const char*, 12> kCocoFigures = {"AP",        "AP50",     "AP75",      "AP_small",
                                                      "AP_medium", "AP_large", "AR_1",      "AR_10",
                                                      "AR_100",    "AR_small", "AR_medium", "AR_large"};
using CocoFigures = std::array<double, kCocoFigures.size()>;  ///< 0 to 1; -1 if there are no objects

struct CocoCategoryScores {
    int64_t id = 0;
    CocoFigures figures{};
    double recall50 = -1;                   ///< at an overlap of 0.5
    std::array<double, 101> precision50{};  ///< at an overlap of 0.5, for recalls 0, 0.01, ... 1
};

struct CocoScores {
    CocoFigures figures{};
    std::vector<CocoCategoryScores> categories;  ///< in the order of their ids
};

/// @param matches of all images and categories, in any order
CocoScores cocoScores(std::vector<CocoMatches> matches, std::vector<int64_t> categories);

}  // namespace mpm::pipeline
