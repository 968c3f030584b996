// A clip of a street, as a fixed camera takes it, with the sensor's noise.
#pragma once

#include <string>

#include "street/night.hpp"
#include "street/street.hpp"

namespace mpm::street {

/// Hour at which a clip begins, and the noise of the camera at that light.
struct ClipLight {
    double hour = 13;
    NightParameters noise;
};

/// "day", "dusk" or "night". Throws cv::Exception on another name.
ClipLight clipLight(const std::string& name);

/// The same arguments always give the same frames, in any order. Not thread-safe.
class Clip {
public:
    /// `rate`: frames a second; 0: nothing moves.
    Clip(cv::Size size, const ClipLight& light, double rate, int seed);

    StreetFrame frame(int number);

private:
    const ClipLight m_light;
    const double m_rate;
    const int m_seed;
    Street m_street;
};

}  // namespace mpm::street
