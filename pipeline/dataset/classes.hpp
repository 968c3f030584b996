// Names and colours of the ids of a label image.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

struct Classes {
    std::vector<std::string> names;  ///< by id
    std::vector<cv::Vec3b> palette;  ///< RGB by id
    int ignored = 255;               ///< label that takes no part in any measure

    int count() const { return static_cast<int>(names.size()); }
};

/// The 11 classes of CamVid in the order of SegNet's tutorial; id 11 is unlabelled.
Classes camvidClasses();

/// A JSON list of {"name": text, "color": [r, g, b]}, the ids in this order.
Classes readClasses(const std::string& path);

/// The classes in a file's text; errors name `path`.
Classes classesFrom(const std::string& text, const std::string& path);

}  // namespace mpm::pipeline
