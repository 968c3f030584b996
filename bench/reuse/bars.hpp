// The bars (required values) of reuse, and the clips on which they are measured.
#pragma once

#include <optional>
#include <string>

#include "bench/reuse/clips.hpp"

namespace mpm::bench {

struct Bar {
    std::string name;   ///< "street day 5 fps"
    std::string light;  ///< light of the built-in street; empty for a video
    double rate = 5;
    bool compressed = false;
    double flops = 0, speed = 0, speedBf16 = 0;  ///< least factors: of operations, of speed in f32 and bf16
    double loss = 0;                             ///< with labels: largest loss, in points of mIoU
    double agreement = 0, worst = 0;             ///< without labels: least agreement in % (mean; worst frame)
};

inline const Bar kBars[] = {
    {"video", "", 10, false, 6, 4.5, 4.5, 0, 97, 94.5},
    {"street by day, 5 fps", "day", 5, false, 4.2, 3.3, 3.3, 0.3, 0, 0},
    {"street by day, 25 fps", "day", 25, false, 8.5, 6, 6, 0.3, 0, 0},
    {"street by night, 5 fps", "night", 5, false, 4.5, 3.5, 3.5, 0.5, 0, 0},
    {"street by night through x264", "night", 5, true, 2.7, 2.2, 2.2, 0.5, 0, 0},
    {"still by day", "day", 0, false, 15, 8, 6, 0.3, 0, 0},
    {"still by night", "night", 0, false, 15, 8, 6, 0.3, 0, 0},
};

/// Returns the clip of a bar, or nothing if the video or the x264 encoder is missing. `street`: number of the
/// street, from 0; always 0 for a video.
inline std::optional<Clip> clipOf(const Bar& bar, int street, int frames, const std::string& path) {
    if (bar.light.empty()) {
        if (path.empty() || street > 0) return std::nullopt;
        return video(path, frames);
    }
    constexpr int kFirstSeed = 7001;  // no model was trained or tuned on these streets
    const Clip plain = mpm::bench::street(bar.light, bar.rate, kFirstSeed + street, frames);
    const Clip clip = bar.compressed ? throughX264(plain, "/tmp") : recorded(plain);
    if (clip.frames == 0) return std::nullopt;
    return clip;
}

}  // namespace mpm::bench
