// Functions that build the parts of actors.
#pragma once

#include "street/actors/actor.hpp"

namespace mpm::street {

/// A local coordinate frame: `origin`, and axes forward, up and left.
struct Frame3 {
    cv::Vec3f origin, forward;

    cv::Vec3f side() const { return {-forward[2], 0, forward[0]}; }
    cv::Vec3f at(float ahead, float up, float left) const {
        return origin + forward * ahead + cv::Vec3f(0, up, 0) + side() * left;
    }
};

void addLimb(Actor& actor, const cv::Vec3f& a, const cv::Vec3f& b, float radiusA, float radiusB,
             const cv::Vec3f& colour, const cv::Vec3f& eye);

void addBall(Actor& actor, const cv::Vec3f& centre, float radius, const cv::Vec3f& colour,
             const cv::Vec3f& eye);

/// Makes the facet's normal point away from `inside`, and adds the facet if it faces the eye.
void addFacing(Actor& actor, Facet facet, const cv::Vec3f& inside, const cv::Vec3f& eye);

cv::Vec3f normalOf(const std::vector<cv::Vec3f>& points);

}  // namespace mpm::street
