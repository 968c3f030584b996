// Houses: bodies, walls, windows, roofs.
#pragma once

#include "pipeline/scene/gbuffer.hpp"
#include "pipeline/scene/layout.hpp"

namespace mpm::pipeline {

void buildHouse(Gbuffer& buffer, const House& house);

/// A box around the house, for shadows.
void houseBox(const House& house, cv::Vec3f& low, cv::Vec3f& high);

}  // namespace mpm::pipeline
