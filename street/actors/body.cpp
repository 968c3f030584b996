#include "street/actors/body.hpp"

#include <algorithm>
#include <cmath>

namespace mpm::street {
namespace {

cv::Vec3f unit(const cv::Vec3f& v) {
    const float length = std::sqrt(v.dot(v));
    return length > 1e-6f ? v * (1 / length) : cv::Vec3f(0, 1, 0);
}

}  // namespace

cv::Vec3f normalOf(const std::vector<cv::Vec3f>& points) {
    return unit((points[1] - points[0]).cross(points[2] - points[0]));
}

void addFacing(Actor& actor, Facet facet, const cv::Vec3f& inside, const cv::Vec3f& eye) {
    facet.normal = normalOf(facet.points);
    if (facet.normal.dot(facet.points[0] - inside) < 0) facet.normal = -facet.normal;
    if (facet.normal.dot(eye - facet.points[0]) > 0) actor.facets.push_back(std::move(facet));
}

void addBall(Actor& actor, const cv::Vec3f& centre, float radius, const cv::Vec3f& colour,
             const cv::Vec3f& eye) {
    const cv::Vec3f view = unit(centre - eye), right = unit(cv::Vec3f(0, 1, 0).cross(view)),
                    up = view.cross(right);
    // Makes three bands from bottom to top with different normals, so that the upper band gets more light
    // from the sky.
    for (int band = 0; band < 3; ++band) {
        const float low = -1.5708f + 1.0472f * static_cast<float>(band), high = low + 1.0472f;
        Facet facet;
        facet.colour = colour;
        facet.normal = unit(up * std::sin((low + high) / 2) - view * 0.6f);
        for (int i = 0; i <= 4; ++i) {
            const float angle = low + (high - low) * static_cast<float>(i) / 4;
            facet.points.push_back(centre + (right * std::cos(angle) + up * std::sin(angle)) * radius);
        }
        for (int i = 4; i >= 0; --i) {
            const float angle = low + (high - low) * static_cast<float>(i) / 4;
            facet.points.push_back(centre + (right * -std::cos(angle) + up * std::sin(angle)) * radius);
        }
        actor.facets.push_back(facet);
    }
}

void addLimb(Actor& actor, const cv::Vec3f& a, const cv::Vec3f& b, float radiusA, float radiusB,
             const cv::Vec3f& colour, const cv::Vec3f& eye) {
    const cv::Vec3f axis = unit(b - a), view = unit((a + b) * 0.5f - eye);
    const cv::Vec3f side = unit(axis.cross(view)), front = unit(side.cross(axis));
    const cv::Vec3f toEye = front.dot(view) > 0 ? -front : front;
    constexpr int kStrips = 3;
    for (int i = 0; i < kStrips; ++i) {
        const float low = -1 + 2.0f * static_cast<float>(i) / kStrips, high = low + 2.0f / kStrips,
                    middle = (low + high) / 2;
        Facet facet;
        facet.colour = colour;
        facet.normal = unit(side * middle + toEye * std::sqrt(1 - middle * middle));
        const cv::Vec3f capA = axis * (radiusA * 0.5f * std::sqrt(1 - middle * middle));
        const cv::Vec3f capB = axis * (radiusB * 0.5f * std::sqrt(1 - middle * middle));
        facet.points = {a - capA + side * (low * radiusA), a - capA + side * (high * radiusA),
                        b + capB + side * (high * radiusB), b + capB + side * (low * radiusB)};
        actor.facets.push_back(facet);
    }
}

}  // namespace mpm::street
