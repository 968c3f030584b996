// Reads files in COCO's formats: annotations of a data set, and detections.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pipeline/metric/coco.hpp"

namespace mpm::pipeline {

struct CocoImage {
    std::string file;  ///< name in the annotations; may be empty
    cv::Size size;

    /// Returns the image's path in the folder `root`.
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

/// @param masks whether to read the objects' masks instead of their boxes
/// @throws cv::Exception that names the file, the entry and the fault
CocoTruth readCocoTruth(const std::string& path, bool masks);

/// Reads a file of detections: a list of image_id, category_id, score and bbox or segmentation. Detections of
/// images that `truth` does not list are left out. As in COCO's code, the first entry decides whether the
/// area of detections is of their boxes or of their masks.
/// @param leftOut gets the number of detections of images that are not listed
/// @throws cv::Exception that names the file, the entry and the fault
std::vector<CocoObject> readCocoResults(const std::string& path, const CocoTruth& truth, bool masks,
                                        size_t& leftOut);

}  // namespace mpm::pipeline
