// The sky: gradient, sun or moon, clouds, stars.
#pragma once

#include "street/layout/camera.hpp"
#include "street/render/light.hpp"

namespace mpm::street {

class Sky {
public:
    Sky(const Layout& layout, const Camera& camera, cv::Size size);

    /// Linear light of the sky at a pixel.
    cv::Vec3f at(int x, int y, const Light& light) const;

private:
    Camera m_camera;
    uint32_t m_seed;
    cv::Mat m_clouds;  ///< CV_32F, cover 0..1
};

}  // namespace mpm::street
