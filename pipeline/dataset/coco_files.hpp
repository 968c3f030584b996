// Files in COCO's formats: annotations of a data set, and detections.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pipeline/metric/coco.hpp"

namespace mpm::pipeline {

struct CocoImage {
    std::string file;  ///< name in the annotations; may be empty
    cv::Size size;

    /// Returns the path of the image below the folder `root`.
    std::string pathBelow(const std::string& root) const;
};

struct CocoTruth {
    std::map<int64_t, CocoImage> images;
    std::map<int64_t, std::string> categories;
    std::vector<CocoObject> objects;  ///< in the order of the file

    std::vector<int64_t> imageIds() const;
    std::vector<int64_t> categoryIds() const;
};

/// Reads a file of annotations. `masks`: whether to read the masks of objects instead of their boxes. Throws
/// a cv::Exception that names the file, the entry and the fault.
CocoTruth readCocoTruth(const std::string& path, bool masks);

/// Reads a file of detections: a list of image_id, category_id, score and bbox or segmentation. Ignores
/// detections of images that are not in `truth`, and counts these detections in `leftOut`. As in COCO's code,
/// the area of a detection is the area of its box if the first entry of the file has a box or the detection
/// has no mask; else, of its mask. Throws a cv::Exception that names the file, the entry and the fault.
std::vector<CocoObject> readCocoResults(const std::string& path, const CocoTruth& truth, bool masks,
                                        size_t& leftOut);

}  // namespace mpm::pipeline
