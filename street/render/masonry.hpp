// Houses: bodies, walls, windows, roofs.
#pragma once

#include "street/layout/layout.hpp"
#include "street/render/gbuffer.hpp"

namespace mpm::street {

void buildHouse(Gbuffer& buffer, const House& house);

/// A box around the house, for shadows.
void houseBox(const House& house, cv::Vec3f& low, cv::Vec3f& high);

}  // namespace mpm::street
