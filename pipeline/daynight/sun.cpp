#include "pipeline/daynight/day_night.hpp"

#include <cmath>

namespace mpm::pipeline {

namespace {

constexpr double kPi = 3.14159265358979323846;
double radians(double degrees) {
    return degrees * kPi / 180;
}

}  // namespace

/// The low-precision solar coordinates of the Astronomical Almanac: days since noon of 2000-01-01 give the
/// ecliptic longitude, that gives declination and right ascension, sidereal time gives the hour angle.
double sunElevation(std::chrono::system_clock::time_point time, double latitude, double longitude) {
    const double unixSeconds = std::chrono::duration<double>(time.time_since_epoch()).count();
    const double days = unixSeconds / 86400.0 + 2440587.5 - 2451545.0;
    const double anomaly = radians(357.528 + 0.9856003 * days);
    const double meanLongitude = 280.460 + 0.9856474 * days;
    const double ecliptic =
        radians(meanLongitude + 1.915 * std::sin(anomaly) + 0.020 * std::sin(2 * anomaly));
    const double tilt = radians(23.439 - 0.0000004 * days);
    const double declination = std::asin(std::sin(tilt) * std::sin(ecliptic));
    const double ascension = std::atan2(std::cos(tilt) * std::sin(ecliptic), std::cos(ecliptic));
    const double sidereal = radians(280.46061837 + 360.98564736629 * days + longitude);
    const double hourAngle = sidereal - ascension;
    const double north = radians(latitude);
    const double height = std::sin(north) * std::sin(declination) +
                          std::cos(north) * std::cos(declination) * std::cos(hourAngle);
    return std::asin(height) * 180 / kPi;
}

}  // namespace mpm::pipeline
