// Position of the sun.
#pragma once

#include <chrono>

namespace mpm::pipeline {

/// Degrees above the horizon at a time and place (degrees north and east), good to about a quarter of a
/// degree between 1950 and 2050; refraction is left out.
double sunElevation(std::chrono::system_clock::time_point time, double latitude, double longitude);

}  // namespace mpm::pipeline
