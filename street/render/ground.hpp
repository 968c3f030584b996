// Road, kerb, pavement and the ground behind it.
#pragma once

#include "street/layout/layout.hpp"
#include "street/render/gbuffer.hpp"

namespace mpm::street {

void layGround(Gbuffer& buffer, const Layout& layout);

}  // namespace mpm::street
