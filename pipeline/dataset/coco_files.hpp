// Files in COCO's formats: annotations of a data set, and detections.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pipeline/metric/coco.hpp"

namespace mpm::pipeline {

struct CocoImage {
    std::string file;  ///< as the file names it; may be empty
    cv::Size size;

    /// The image's path in the folder `root`.
    /// @throws cv::Exception if `file` is empty or leads out of the folder
    std::string pathBelow(const std::string& root) const;
};

/// A file of annotations.
struct CocoTruth {
    std::map<int64_t, CocoImage> images;
    std::map<int64_t, std::string> categories;
    std::vector<CocoObject> objects;  ///< in the order of the file

    std::vector<int64_t> imageIds() const;
    std::vector<int64_t> categoryIds() const;
};

/// @param masks the objects' masks are read too; else only their boxes
/// @throws cv::Exception that names the file, the entry and the fault
CocoTruth readCocoTruth(const std::string& path, bool masks);

/// A file of detections: a list of image_id, category_id, score and bbox or segmentation. Those of images
/// that `truth` does not list are left out. As in COCO's code, the first entry decides whether a detection's
/// area is that of its box or of its mask.
/// @param leftOut the number of detections of images that are not listed
/// @throws cv::Exception that names the file, the entry and the fault
std::vector<CocoObject> readCocoResults(const std::string& path, const CocoTruth& truth, bool masks,
                                        size_t& leftOut);

}  // namespace mpm::pipeline
