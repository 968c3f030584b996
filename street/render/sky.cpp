#include "street/render/canvas.hpp"

#include <cmath>

#include "street/render/noise.hpp"

namespace mpm::street {

static cv::Vec3f unit(const cv::Vec3f& v) {
    return v * (1 / std::sqrt(v.dot(v)));
}

Sky::Sky(const Layout& layout, const Camera& camera, cv::Size size)
    : m_camera(camera),
      m_seed(static_cast<uint32_t>(layout.seed >> 7)),
      m_clouds(size, CV_32F, cv::Scalar(0)) {
    const float threshold = 0.72f - 0.42f * layout.clouds;
    for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
            const cv::Vec3f ray = unit(camera.ray(static_cast<float>(x), static_cast<float>(y)));
            if (ray[1] < 0.005f) break;
            const float reach = 1 / (ray[1] + 0.12f);  // distance to a flat layer, limited near the horizon
            const float noise = fractalNoise(ray[0] * reach * 1.1f, ray[2] * reach * 1.1f, 5, m_seed);
            m_clouds.at<float>(y, x) = std::max(0.0f, std::min(1.0f, (noise - threshold) * 4.5f));
        }
    }
}

cv::Vec3f Sky::at(int x, int y, const Light& light) const {
    const cv::Vec3f ray = unit(m_camera.ray(static_cast<float>(x), static_cast<float>(y)));
    const float up = std::max(0.0f, ray[1]);
    const float haze = std::exp(-5.5f * up);
    cv::Vec3f colour = light.skyAbove * (1 - haze) + light.skyLow * haze;
    const float toSun = std::max(0.0f, ray.dot(light.toSun));
    const float cover = m_clouds.at<float>(y, x);
    const float halo = 0.25f * std::pow(toSun, 12.0f) + 0.5f * std::pow(toSun, 180.0f);
    const bool moon = light.dark > 0.9f;
    colour += light.sun * (halo * (moon ? 0.6f : 0.5f));
    if (toSun > (moon ? 0.99975f : 0.9993f) && cover < 0.6f)
        colour += moon ? cv::Vec3f(0.7f, 0.72f, 0.7f) : light.sun * 4.0f;
    if (light.dark > 0.6f && cover < 0.3f && hash2(x, y, m_seed) % 1400 == 0) {
        colour += cv::Vec3f::all(0.35f * light.dark * hashUnit(y, x, m_seed) * (1 - haze));
    }
    const cv::Vec3f lit = light.skyLow * 0.72f + light.sun * (0.16f + 0.25f * halo) +
                          cv::Vec3f(0.006f, 0.005f, 0.004f) * light.dark;
    const cv::Vec3f cloud = lit * (1 - 0.35f * cover) + light.skyAbove * 0.12f;
    const float share = cover * (1 - 0.5f * haze);
    return colour * (1 - share) + cloud * share;
}

}  // namespace mpm::street
