// Reading a network in a single call, and the values for reuse in a model file. <mpm/mpm.hpp> has everything
// else.
#pragma once

#include <mpm/mpm.hpp>

namespace mpm {

/// Registers the operators, selects OpenCV's engine, and reads the network without the warnings that OpenCV
/// prints for operators of other domains. The encoder has the file's values for reuse: mpm_set_reuse() and
/// MPM_REUSE start from them.
/// @param path an ONNX file, converted or not
/// @throws cv::Exception if the file cannot be read, has a later version of the domain `mpm` than this
/// library, an operator that OpenCV does not support, or values for reuse that are not valid
MPM_API cv::dnn::Net readNet(const std::string& path);

/// The values for reuse in a model file's metadata `mpm.reuse`, and the defaults of those that it does not
/// have. The metadata never turns reuse on: encoder.setReuse(reuseOf(path)) does.
/// @throws cv::Exception if the file cannot be read or is of a later version, or a value is out of range
MPM_API Reuse reuseOf(const std::string& path);

/// The batch size that a model's input declares; 0 if the model leaves it open.
/// @throws cv::Exception if the file cannot be read or is of a later version
MPM_API int batchOf(const std::string& path);

/// As reuseFrom(text), but values that `text` does not have are those of `others`.
MPM_API std::optional<Reuse> reuseFrom(const std::string& text, const Reuse& others);

}  // namespace mpm
