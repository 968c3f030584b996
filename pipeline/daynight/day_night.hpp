// Decides whether it is day or night at a camera: by luminance, colour, the clock, the sun or the user.
#pragma once

#include <chrono>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

enum class Phase { Day, Night };

/// Returns the median luminance of an image (CV_8UC1 or CV_8UC3, BGR), from 0 (black) to 1 (white). The mean
/// would mislead: most pixels of a night image are dark, but lamps, headlights and lit facades raise the mean
/// to the level of a dull day.
double luminance(const cv::Mat& image);

/// Returns the colourfulness of an image, from 0 (grey) to 1: the 90 % quantile, over a grid of pixels, of
/// the largest channel minus the smallest channel. A camera that switches to infrared sends grey images.
double saturation(const cv::Mat& image);

struct DayNightRule {
    enum class By { Luminance, Schedule, Sun, Hand, Infrared } by = By::Luminance;

    /// For By::Luminance: night begins below `dark`, day begins above `bright`. The luminance must stay
    /// beyond the threshold for `hold`, so that a passing lorry or a lamp does not change the phase.
    double dark = 0.185;
    double bright = 0.215;
    std::chrono::seconds hold{5};

    /// For By::Infrared: night begins if saturation() stays below `grey`, day begins if saturation() stays
    /// above `coloured`. Luminance would mislead: the camera's infrared lamp makes a night image bright.
    double grey = 0.04;
    double coloured = 0.06;

    /// For By::Schedule: the beginnings of day and night, in minutes after local midnight.
    int dayFrom = 7 * 60;
    int nightFrom = 19 * 60;

    /// For By::Sun: degrees north and east. It is night while the sun is below `elevation` (-6: civil dusk).
    double latitude = 0;
    double longitude = 0;
    double elevation = -6;

    Phase hand = Phase::Day;
};

class DayNight {
public:
    /// Throws cv::Exception if a value is invalid (dark above bright, hours or degrees out of range).
    explicit DayNight(const DayNightRule& rule = {});

    /// Returns the phase at `time` from the image's luminance and saturation. `time` may be earlier than in
    /// the previous call.
    Phase update(double luminance, std::chrono::system_clock::time_point time, double saturation = 1);

    Phase phase() const { return m_phase; }
    int flips() const { return m_flips; }  ///< number of changes of the phase since the first update

private:
    /// Returns night if `level` stays below `low` for `hold`, day if `level` stays above `high` for `hold`,
    /// else the previous phase.
    Phase byLevel(double level, double low, double high, std::chrono::system_clock::time_point time);

    DayNightRule m_rule;
    Phase m_phase = Phase::Day;
    bool m_first = true;
    bool m_leaving = false;  ///< whether the level has been beyond the threshold since m_since
    std::chrono::system_clock::time_point m_since;
    int m_flips = 0;
};

/// Returns the sun's elevation in degrees, without refraction, at a place in degrees north and east. The
/// error is at most about a quarter of a degree between 1950 and 2050.
double sunElevation(std::chrono::system_clock::time_point time, double latitude, double longitude);

}  // namespace mpm::pipeline
