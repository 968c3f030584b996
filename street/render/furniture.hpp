// Objects between the houses: trees, lamps, signs, fences.
#pragma once

#include "street/layout/layout.hpp"
#include "street/render/gbuffer.hpp"

namespace mpm::street {

void growTree(Gbuffer& buffer, const Tree& tree);
void raiseLamp(Gbuffer& buffer, const Lamp& lamp);
void raiseSign(Gbuffer& buffer, const SignPost& sign);
void buildFence(Gbuffer& buffer, const Fence& fence);

cv::Vec3f lampHead(const Lamp& lamp);

}  // namespace mpm::street
