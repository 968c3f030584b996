// Reading a network in one call. <mpm/mpm.hpp> has everything else.
#pragma once

#include <mpm/mpm.hpp>

namespace mpm {

/// Registers the operators, selects OpenCV's engine, and reads the network without the warnings that OpenCV
/// prints for operators of other domains.
/// @param path an ONNX file, converted or not
/// @throws cv::Exception if the file cannot be read or has an operator that OpenCV does not support
MPM_API cv::dnn::Net readNet(const std::string& path);

}  // namespace mpm
