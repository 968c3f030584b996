// What stands between the houses: trees, lamps, signs, fences.
#pragma once

#include "pipeline/scene/gbuffer.hpp"
#include "pipeline/scene/layout.hpp"

namespace mpm::pipeline {

void growTree(Gbuffer& buffer, const Tree& tree);
void raiseLamp(Gbuffer& buffer, const Lamp& lamp);
void raiseSign(Gbuffer& buffer, const SignPost& sign);
void buildFence(Gbuffer& buffer, const Fence& fence);

cv::Vec3f lampHead(const Lamp& lamp);

}  // namespace mpm::pipeline
