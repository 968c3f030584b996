// Images of a data set.
#pragma once

#include <string>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// As readImage(); throws cv::Exception that names the path.
cv::Mat imageAt(const std::string& path, int flags);

}  // namespace mpm::pipeline
