// Sun, sky and lamps by the hour, and their light on a surface. Sums are of linear light; Light::toPixel()
// converts to 8 bits.
#pragma once

#include <array>
#include <vector>

#include <opencv2/core.hpp>

#include "street/layout/layout.hpp"

namespace mpm::street {

/// RGB of 8-bit colours as linear light.
float linearOf(uchar value);

struct Light {
    double hour = 12;
    cv::Vec3f toSun;             ///< unit; towards the moon at night
    cv::Vec3f sun;               ///< linear RGB, with shadow; moonlight at night
    cv::Vec3f skyAbove, skyLow;  ///< linear RGB of zenith and horizon
    cv::Vec3f ambientUp, ambientSide, ambientDown;
    cv::Vec3f lamp;  ///< of street lamps at full strength
    float dark = 0;  ///< 0 by day, 1 at night
    float exposure = 1;

    Light(const Layout& layout, double hour);

    /// Ambient light on a surface, without shadow.
    cv::Vec3f ambient(const cv::Vec3f& normal) const;

    /// Linear light to an 8-bit BGR pixel.
    cv::Vec3b toPixel(const cv::Vec3f& linear) const;

    /// Light of a surface that carries a Glow.
    cv::Vec3f glow(uchar kind) const;
};

/// Houses and trees that throw shadows.
class Occluders {
public:
    explicit Occluders(const Layout& layout);
    /// 1 in full sun, 0 in shadow; tree crowns let a part through.
    float sunAt(const cv::Vec3f& point, const cv::Vec3f& toSun) const;

private:
    struct Box {
        cv::Vec3f low, high;
    };
    struct Ball {
        cv::Vec3f centre;
        float radius;
    };
    std::vector<Box> m_boxes;
    std::vector<Ball> m_balls;
};

/// Light of all lamps on a surface, 0..about 1.5.
float lampLight(const Layout& layout, const cv::Vec3f& point, const cv::Vec3f& normal);

}  // namespace mpm::street
