// Features as colours: the first three principal components are red, green and blue.
#pragma once

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// Learns the components from the first frames and keeps them, so that a colour means the same on every later
/// frame. Components of the first frames differ little: each set is turned to fit the previous set.
class FeatureColours {
public:
    static constexpr int kFrames = 8;  ///< frames that are learned from

    /// features: CV_32F, a row for each image token; all calls have the same width. -> CV_8UC3 of size
    /// `grid`, BGR. `learns`: if true, this frame may change the components; the first frame always does.
    cv::Mat colours(const cv::Mat& features, cv::Size grid, bool learns = true);

    /// Whether the components are fixed.
    bool settled() const { return m_frames >= kFrames; }

private:
    void learn(const cv::Mat& unit);

    cv::Mat m_samples;          // of the frames learned from, released when settled
    cv::Mat m_mean, m_axes;     // 1xD; Dx3, orthonormal
    cv::Vec3f m_least, m_most;  // of the samples along each axis, without outliers
    int m_frames = 0;
};

/// `colours` (a value for each patch) stretched smoothly over the image. image: CV_8UC3.
cv::Mat drawFeatures(const cv::Mat& image, const cv::Mat& colours, double opacity);

}  // namespace mpm::pipeline
