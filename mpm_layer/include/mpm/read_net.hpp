// Functions that read a network in a single call, and the options of reuse from a model file. <mpm/mpm.hpp>
// has everything else.
#pragma once

#include <mpm/mpm.hpp>

namespace mpm {

/// Registers the operators, selects OpenCV's engine, and reads the network without the warnings that OpenCV
/// prints for operators of other domains. The file's options of reuse become the defaults of mpm_set_reuse()
/// and MPM_REUSE.
/// @param path an ONNX file, converted or not
/// @throws cv::Exception if the file cannot be read, or has a later version of the domain `mpm` than this
///     library. Also throws if OpenCV does not support an operator, or if options of reuse are invalid
MPM_API cv::dnn::Net readNet(const std::string& path);

/// Reads the options of reuse in a model file's metadata `mpm.reuse`; absent options have their defaults. The
/// metadata never turns reuse on: encoder.setReuse(reuseOf(path)) does.
/// @throws cv::Exception if the file cannot be read or has a later version, or if a value is out of range
MPM_API Reuse reuseOf(const std::string& path);

/// @return the batch size that the model's input for images declares; 0 if the batch size is dynamic
/// @throws cv::Exception if the file cannot be read or has a later version
MPM_API int batchOf(const std::string& path);

/// Like reuseFrom(text), but options that are not in `text` have the values of `others`.
MPM_API std::optional<Reuse> reuseFrom(const std::string& text, const Reuse& others);

}  // namespace mpm
