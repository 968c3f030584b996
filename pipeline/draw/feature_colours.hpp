// Shows features as colours: the first three principal components are red, green and blue.
#pragma once

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// Learns the components from the first frames and then keeps them, so that a colour means the same in all
/// later frames. While learning, rotates new components towards the previous components, so that colours
/// change little.
class FeatureColours {
public:
    static constexpr int kFrames = 8;  ///< number of frames to learn from

    /// Returns an image of size `grid` (CV_8UC3, BGR). `features`: CV_32F, a row for each image token; the
    /// width must be equal in all calls. `learns`: whether this frame may change the components; the first
    /// frame always may.
    cv::Mat colours(const cv::Mat& features, cv::Size grid, bool learns = true);

    /// Returns whether the components are fixed.
    bool settled() const { return m_frames >= kFrames; }

private:
    void learn(const cv::Mat& unit);

    cv::Mat m_samples;          // sampled rows of the first frames, released when settled
    cv::Mat m_mean, m_axes;     // 1xD; Dx3 with orthonormal columns. D: width of the features
    cv::Vec3f m_least, m_most;  // range of the samples along each axis, without outliers
    int m_frames = 0;
};

/// Blends `colours`, a colour for each patch, over `image` (CV_8UC3), with smooth transitions.
cv::Mat drawFeatures(const cv::Mat& image, const cv::Mat& colours, double opacity);

}  // namespace mpm::pipeline
