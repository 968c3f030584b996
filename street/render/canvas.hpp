// The lit street at some hour, and actors painted into it.
#pragma once

#include "street/actors/actor.hpp"
#include "street/render/gbuffer.hpp"
#include "street/render/light.hpp"
#include "street/render/sky.hpp"

namespace mpm::street {

/// The street without moving actors. Fine maps have `samples` pixels a side in each pixel of a
/// frame.
struct Backdrop {
    cv::Mat image;   ///< CV_8UC3 BGR, size of a frame
    cv::Mat labels;  ///< CV_8U, size of a frame
    cv::Mat sun;     ///< CV_8U, size of a frame: direct sun that arrives, 0..255
    cv::Mat depth;   ///< CV_32F, fine
    int samples = 1;
};

struct Stage {
    const Layout& layout;
    const Light& light;
    const Occluders& occluders;
    Camera camera;  ///< of the fine maps
};

/// Lamp light that falls on each fine pixel.
cv::Mat lampMap(const Layout& layout, const Gbuffer& buffer, int step);

/// All static objects, lit; with parked cars.
Backdrop lightStreet(const Stage& stage, const Gbuffer& buffer, const Sky& sky, const cv::Mat& lamps,
                     int samples, const std::vector<Actor>& parked);

/// Shadows under actors and the light of their lamps on the road, before the actors themselves.
void paintGroundEffects(const Stage& stage, const Backdrop& backdrop, const std::vector<Actor>& actors,
                        cv::Mat& image);

/// Glare of lamps, after everything else.
void paintGlare(const Stage& stage, const Backdrop& backdrop, const std::vector<Actor>& actors,
                cv::Mat& image);

}  // namespace mpm::street
