#include "pipeline/dataset/dataset.hpp"

#include "pipeline/image/read.hpp"

namespace mpm::pipeline {

cv::Mat imageAt(const std::string& path, int flags) {
    try {
        return readImage(path, flags);
    } catch (const ImageError& error) {
        CV_Error(cv::Error::StsParseError, path + " cannot be read: " + error.what());
    }
}

}  // namespace mpm::pipeline
