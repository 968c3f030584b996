// Painting of an actor at the fine resolution.
#pragma once

#include "street/render/canvas.hpp"

namespace mpm::street {

struct Sprite {
    cv::Rect area;   ///< on the fine maps; empty if nothing shows
    cv::Mat colour;  ///< CV_8UC3 BGR
    cv::Mat depth;   ///< CV_32F, infinite outside of the actor
};

/// The actor alone, lit, on a grid of fine pixels whose corner is a multiple of `align`.
Sprite renderSprite(const Stage& stage, const Actor& actor, cv::Size fineSize, int align);

/// Paints an actor over a frame that began as a copy of the backdrop.
void paintActor(const Sprite& sprite, const Backdrop& backdrop, uchar label, cv::Mat& image, cv::Mat& labels);

/// Paints into fine maps and their depth: for actors that never move.
void paintFine(const Stage& stage, const Actor& actor, cv::Mat& fine, cv::Mat& labels, cv::Mat& depth);

}  // namespace mpm::street
