// The properties that do not depend on light, for each pixel of the street.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include <opencv2/core.hpp>

#include "street/layout/camera.hpp"
#include "street/layout/layout.hpp"

namespace mpm::street {

/// Kinds of surfaces that shine at different times. Values from kWindow on are windows of homes; the value
/// decides at which hours the window is lit.
enum Glow : uchar { kDark, kLampHead, kRedLight, kShopWindow, kGlass, kWindow = 16 };

struct Surface {
    cv::Vec3f colour;  ///< RGB 0..1 with gamma, not linear
    cv::Vec3f normal{0, 1, 0};
    uchar label = 0;
    uchar glow = kDark;
};

/// The half-space of points p with normal.p <= offset. `face`: number of the side, which shade() receives.
struct Plane {
    cv::Vec3f normal;
    float offset = 0;
    int face = 0;
};

class Gbuffer {
public:
    Gbuffer(const Camera& camera, cv::Size size);

    const Camera& camera() const { return m_camera; }
    cv::Size size() const { return depth.size(); }

    /// Draws a flat convex polygon, which is visible from both sides.
    void polygon(const std::vector<cv::Vec3f>& world, const Surface& surface);

    /// Draws a post from `foot` to `top`, with normals that make the post look round.
    void post(const cv::Vec3f& foot, const cv::Vec3f& top, float radiusFoot, float radiusTop,
              Surface surface);

    /// Draws a convex body. shade(face, point, metresPerPixel) must return the surface.
    template <typename Shade>
    void solid(const std::vector<Plane>& planes, const cv::Vec3f& low, const cv::Vec3f& high, Shade shade);

    /// Draws the pixels whose ray meets the ground. shade(ray, t) must return the surface and set the
    /// distance `t`.
    template <typename Shade>
    void ground(Shade shade);

    void put(int x, int y, float z, const Surface& surface) {
        float& nearest = depth.at<float>(y, x);
        if (z >= nearest) return;
        nearest = z;
        write(x, y, surface);
    }

    cv::Mat depth;   ///< CV_32F, distance along the view; infinite for the sky
    cv::Mat colour;  ///< CV_8UC3, RGB
    cv::Mat normal;  ///< CV_8SC3, times 127
    cv::Mat label;   ///< CV_8U
    cv::Mat glow;    ///< CV_8U

private:
    void write(int x, int y, const Surface& surface);
    cv::Rect bounds(const cv::Vec3f& low, const cv::Vec3f& high) const;

    Camera m_camera;
};

template <typename Shade>
void Gbuffer::solid(const std::vector<Plane>& planes, const cv::Vec3f& low, const cv::Vec3f& high,
                    Shade shade) {
    const cv::Rect area = bounds(low, high);
    std::vector<float> gap;  // distance from the eye to each plane; negative if the eye is outside
    for (const auto& plane : planes)
        gap.push_back(plane.offset - plane.normal.dot(m_camera.position));
    for (int y = area.y; y < area.y + area.height; ++y) {
        for (int x = area.x; x < area.x + area.width; ++x) {
            const cv::Vec3f ray = m_camera.ray(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f);
            float enter = 0.05f, leave = depth.at<float>(y, x);
            int face = -1;
            for (size_t i = 0; i < planes.size() && enter < leave; ++i) {
                const float speed = planes[i].normal.dot(ray);
                if (std::abs(speed) < 1e-9f) {
                    if (gap[i] < 0) leave = -1;
                    continue;
                }
                const float t = gap[i] / speed;
                if (speed < 0 && t > enter) {
                    enter = t;
                    face = static_cast<int>(i);
                } else if (speed > 0) {
                    leave = std::min(leave, t);
                }
            }
            if (face < 0 || enter >= leave) continue;
            Surface surface =
                shade(planes[face].face, m_camera.position + ray * enter, enter / m_camera.focal);
            surface.normal = planes[face].normal;
            put(x, y, enter, surface);
        }
    }
}

template <typename Shade>
void Gbuffer::ground(Shade shade) {
    for (int y = 0; y < depth.rows; ++y) {
        for (int x = 0; x < depth.cols; ++x) {
            const cv::Vec3f ray = m_camera.ray(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f);
            if (ray[1] > -1e-4f) continue;
            float t = 0;
            const Surface surface = shade(ray, t);
            put(x, y, t, surface);
        }
    }
}

void growTree(Gbuffer& buffer, const Tree& tree);
void raiseLamp(Gbuffer& buffer, const Lamp& lamp);
void raiseSign(Gbuffer& buffer, const SignPost& sign);
void buildFence(Gbuffer& buffer, const Fence& fence);

cv::Vec3f lampHead(const Lamp& lamp);

void layGround(Gbuffer& buffer, const Layout& layout);

void buildHouse(Gbuffer& buffer, const House& house);

/// Sets `low` and `high` to the corners of a box around the house.
void houseBox(const House& house, cv::Vec3f& low, cv::Vec3f& high);

}  // namespace mpm::street
