// The bars that reuse over time has to reach, and the clips that they are measured on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/reuse/clips.hpp"

namespace mpm::bench {

struct Bar {
    std::string name;   ///< "street day 5 fps"
    std::string light;  ///< of the built-in street; empty for a video
    double rate = 5;
    bool compressed = false;
    double flops = 0, speed = 0, speedBf16 = 0;  ///< times fewer, times faster
    double loss = 0;                             ///< points of mIoU; if labels are known
    double agreement = 0, worst = 0;             ///< percent; if they are not
};

const std::vector<Bar>& bars();

/// A clip for each street. Empty if the clip cannot be made here.
std::optional<Clip> clipOf(const Bar& bar, int street, int frames, const std::string& video);

}  // namespace mpm::bench
