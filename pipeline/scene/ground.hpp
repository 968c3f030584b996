// Road, kerb, pavement and what lies behind it.
#pragma once

#include "pipeline/scene/gbuffer.hpp"
#include "pipeline/scene/layout.hpp"

namespace mpm::pipeline {

void layGround(Gbuffer& buffer, const Layout& layout);

}  // namespace mpm::pipeline
