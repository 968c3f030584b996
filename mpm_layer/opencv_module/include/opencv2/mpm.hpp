// The module mpm: token merging for vision transformers in the dnn module. Python has these functions as
// cv2.mpm. The whole C++ interface, with a handle for each encoder, is in <opencv2/mpm/mpm.hpp>.
#ifndef OPENCV_MPM_HPP
#define OPENCV_MPM_HPP

#include "opencv2/core.hpp"
#include "opencv2/dnn.hpp"

namespace cv {
namespace mpm {

/** @brief Registers the operators of the domain `mpm`, so that cv::dnn reads converted models. Further
 * calls have no effect. */
CV_EXPORTS_W void registerLayers();

/** @brief Registers the operators and reads a model, without OpenCV's warnings about operators of other
 * domains. */
CV_EXPORTS_W dnn::Net readNet(const String& path);

/** @brief Returns the network's input for an image (8 bits, BGR), with the size and the normalisation in the
 * metadata of the model. */
CV_EXPORTS_W Mat blobFromImage(InputArray image, const String& path);

/** @brief Returns the class names in the model's metadata, by id. */
CV_EXPORTS_W std::vector<String> labels(const String& path);

/** @brief Changes a setting of the process, for later forwards.
@param name blocks, method, device, precision, reuse or batch_independent
@param value the same text as in the environment variables MPM_BLOCKS, MPM_METHOD, ..., such as "2,5" or
"auto"; an empty string removes the setting */
CV_EXPORTS_W void set(const String& name, const String& value);

/** @brief Returns the number of image tokens that entered each block in the last forward of this thread.
@param image index in the batch */
CV_EXPORTS_W std::vector<int> tokens(int image = 0);

/** @brief Returns the milliseconds of this thread's last forward: merging, restoring, the whole encoder. */
CV_EXPORTS_W std::vector<double> times();

/** @brief Returns the version of MPM: MAJOR.MINOR.PATCH. */
CV_EXPORTS_W String version();

}  // namespace mpm
}  // namespace cv

#endif
