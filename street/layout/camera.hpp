// A pinhole camera over a flat world. x is to the right, y up, z ahead, in metres.
#pragma once

#include <cmath>

#include <opencv2/core.hpp>

namespace mpm::street {

struct Camera {
    cv::Vec3f position{0, 2, 0};
    float focal = 600;  ///< pixels
    cv::Point2f centre{320, 240};
    float yaw = 0, pitch = 0;  ///< radians; positive: to the right, and down

    /// Converts world coordinates to camera coordinates: x right, y up, z along the view.
    cv::Vec3f toView(const cv::Vec3f& world) const {
        const cv::Vec3f d = world - position;
        const float cy = std::cos(yaw), sy = std::sin(yaw), cp = std::cos(pitch), sp = std::sin(pitch);
        const float x = cy * d[0] - sy * d[2], z = sy * d[0] + cy * d[2];
        return {x, cp * d[1] + sp * z, cp * z - sp * d[1]};
    }

    cv::Point2f project(const cv::Vec3f& view) const {
        return {centre.x + focal * view[0] / view[2], centre.y - focal * view[1] / view[2]};
    }

    /// Returns the ray through a pixel, in world coordinates. The ray's component along the view is 1.
    cv::Vec3f ray(float u, float v) const {
        const float x = (u - centre.x) / focal, y = (centre.y - v) / focal;
        const float cy = std::cos(yaw), sy = std::sin(yaw), cp = std::cos(pitch), sp = std::sin(pitch);
        const float up = cp * y - sp, ahead = cp + sp * y;
        return {cy * x + sy * ahead, up, cy * ahead - sy * x};
    }

    Camera scaled(float factor) const {
        Camera camera = *this;
        camera.focal *= factor;
        camera.centre *= factor;
        return camera;
    }
};

}  // namespace mpm::street
