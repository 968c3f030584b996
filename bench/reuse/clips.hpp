// Clips for measuring reuse.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "street/street.hpp"

namespace mpm::bench {

/// A function that returns a frame with its labels, which are empty for a video.
using Shots = std::function<street::StreetFrame(int number)>;

struct Clip {
    Shots shots;
    int frames = 0;
};

/// Returns a street by "day" or "night". `rate`: frames a second; 0: nothing moves, and only noise differs.
Clip street(const std::string& light, double rate, int seed, int frames);

/// Returns a street at an hour of the day, at 5 frames a second. The noise is that of day from 7 to 18, of
/// dusk at 6 and 19, else of night.
Clip atHour(int hour, int seed, int frames);

/// Returns a clip that repeats a single noisy frame.
Clip frozen(const std::string& light, int seed, int frames);

/// Returns a clip in which every frame shows another street.
Clip everyFrameNew(int seed, int frames);

/// Returns a clip with the stored frames of `clip`, so that each frame is drawn only once.
Clip recorded(const Clip& clip);

/// Compresses a clip with x264, at the settings of OpenCV's video writer, and decodes it. Returns a clip
/// without frames if OpenCV has no x264.
Clip throughX264(const Clip& clip, const std::string& folder);

/// Returns the first frames of a video.
Clip video(const std::string& path, int frames);

}  // namespace mpm::bench
