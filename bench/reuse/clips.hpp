// Clips to measure reuse over time on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "street/street.hpp"

namespace mpm::bench {

/// A frame and its labels; a video has none: empty.
using Shots = std::function<street::StreetFrame(int number)>;

struct Clip {
    Shots shots;
    int frames = 0;
};

/// A street by "day" or "night". `rate`: frames a second; 0: nothing moves, but the sensor is noisy.
Clip street(const std::string& light, double rate, int seed, int frames);

/// The same at an hour of the day, with the noise of that light: by day from 7 to 19, by night from 20 to 6.
Clip atHour(int hour, int seed, int frames);

/// The same noisy frame again and again.
Clip frozen(const std::string& light, int seed, int frames);

/// Another street in every frame.
Clip everyFrameNew(int seed, int frames);

/// The same clip, drawn once and kept.
Clip recorded(const Clip& clip);

/// The same clip, compressed and decoded by x264 as OpenCV's video writer sets it up. Without frames if
/// OpenCV has no x264.
Clip throughX264(const Clip& clip, const std::string& folder);

/// The first frames of a video.
Clip video(const std::string& path, int frames);

}  // namespace mpm::bench
