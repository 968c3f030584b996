// Actors: cars, people on foot and on bicycles. Facets have world coordinates. Each facet is painted over
// the facets before it.
#pragma once

#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

#include "street/layout/layout.hpp"

namespace mpm::street {

enum class Shine : uchar { None, Lacquer, Glass, Head, Tail };

struct Facet {
    std::vector<cv::Vec3f> points;
    cv::Vec3f normal;
    cv::Vec3f colour;  ///< RGB 0..1
    Shine shine = Shine::None;
};

struct Actor {
    uchar label = 0;
    std::int64_t id = 0;         ///< 1 or more; does not change while the actor is in the street
    cv::Vec3f centre;            ///< on the ground
    cv::Vec3f forward{0, 0, 1};  ///< unit vector along the ground
    float length = 1, width = 1, height = 1;
    bool lights = false;  ///< whether head and tail lamps shine at night
    std::vector<Facet> facets;
};

Actor makeCar(const ParkedCar& car, bool driving, const cv::Vec3f& eye);

/// Makes a person on foot. `stride`: phase of the walk in radians; `look`: number that selects build and
/// clothes.
Actor makePedestrian(const cv::Vec3f& foot, const cv::Vec3f& forward, float stride, uint64_t look,
                     const cv::Vec3f& eye);

Actor makeBicyclist(const cv::Vec3f& foot, const cv::Vec3f& forward, float stride, uint64_t look,
                    const cv::Vec3f& eye);

}  // namespace mpm::street
