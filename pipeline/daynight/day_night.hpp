// Decides between day and night at a camera: by luminance or colour, the clock, the sun, or by hand.
#pragma once

#include <chrono>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

enum class Phase { Day, Night };

/// Returns the median luminance of an image (CV_8UC1 or CV_8UC3, BGR), from 0 (black) to 1 (white). The mean
/// would mislead: lamps, headlights and a lit facade raise the mean of a night image to that of a dull day,
/// but most pixels stay dark.
double luminance(const cv::Mat& image);

/// Returns the colourfulness of an image, from 0 (grey) to 1: the 90 % quantile of the difference between the
/// largest and the smallest channel of a pixel. A camera that switches to infrared sends grey images.
double saturation(const cv::Mat& image);

struct DayNightRule {
    enum class By { Luminance, Schedule, Sun, Hand, Infrared } by = By::Luminance;

    /// Luminance: night begins below `dark`, day above `bright`. The change must last for `hold`, so that a
    /// passing lorry or a lamp changes nothing.
    double dark = 0.185;
    double bright = 0.215;
    std::chrono::seconds hold{5};

    /// Infrared: night begins below `grey`, day above `coloured`. Both are limits of saturation(). Luminance
    /// would mislead, because the camera's infrared lamp makes a night image bright.
    double grey = 0.04;
    double coloured = 0.06;

    /// Schedule: minutes after local midnight.
    int dayFrom = 7 * 60;
    int nightFrom = 19 * 60;

    /// Sun: degrees north and east; night while the sun is below `elevation` (-6: civil dusk).
    double latitude = 0;
    double longitude = 0;
    double elevation = -6;

    Phase hand = Phase::Day;
};

class DayNight {
public:
    /// Throws cv::Exception if a value is invalid (dark above bright, hours or degrees out of range).
    explicit DayNight(const DayNightRule& rule = {});

    /// Returns the phase at `time` from the image's luminance and saturation. `time` may go back between
    /// calls.
    Phase update(double luminance, std::chrono::system_clock::time_point time, double saturation = 1);

    Phase phase() const { return m_phase; }
    int flips() const { return m_flips; }  ///< changes since the first update

private:
    /// If `level` stays below `low` for `hold`, returns night. If it stays above `high` for `hold`, returns
    /// day. If neither, returns the previous phase.
    Phase byLevel(double level, double low, double high, std::chrono::system_clock::time_point time);

    DayNightRule m_rule;
    Phase m_phase = Phase::Day;
    bool m_first = true;
    bool m_leaving = false;  ///< whether a change of phase began at m_since, less than `hold` ago
    std::chrono::system_clock::time_point m_since;
    int m_flips = 0;
};

/// Returns the sun's elevation in degrees at a time and place (degrees north and east), accurate to about a
/// quarter of a degree between 1950 and 2050, without refraction.
double sunElevation(std::chrono::system_clock::time_point time, double latitude, double longitude);

}  // namespace mpm::pipeline
