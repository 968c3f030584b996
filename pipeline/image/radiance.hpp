// Radiance files (.hdr). OpenCV's reader keeps its file open whenever one is damaged, which stops a program
// that reads many of them.
#pragma once

#include <opencv2/core/mat.hpp>

#include "pipeline/image/header.hpp"

namespace mpm::pipeline {

/// Nothing where the header is not complete.
std::optional<ImageHeader> radianceHeader(const FileBytes& file);

/// CV_32FC3 in OpenCV's order of channels; empty where the file is damaged.
cv::Mat decodeRadiance(const FileBytes& file);

}  // namespace mpm::pipeline
