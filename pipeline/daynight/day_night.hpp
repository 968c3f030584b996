// Day or night in front of the camera: by the image's luminance or colour, by the clock, by the sun, or set
// by hand.
#pragma once

#include <chrono>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

enum class Phase { Day, Night };

/// Median luminance of an image (CV_8UC1 or CV_8UC3, BGR), 0 black to 1 white. The median, because lamps,
/// headlights and a lit facade lift the mean of a night image to that of a dull day; most pixels
/// stay dark.
double luminance(const cv::Mat& image);

/// Colour of an image, 0 grey to 1: distance of the largest from the smallest channel, in the most colourful
/// tenth of the pixels the smallest distance. A camera that switches to infrared sends grey images.
double saturation(const cv::Mat& image);

struct DayNightRule {
    enum class By { Luminance, Schedule, Sun, Hand, Infrared } by = By::Luminance;

    /// Luminance: night begins below `dark`, day above `bright`, if that lasts for `hold`, so that a passing
    /// lorry or a lamp changes nothing.
    double dark = 0.185;
    double bright = 0.215;
    std::chrono::seconds hold{5};

    /// Infrared: the same with the saturation; the light of the lamp does not count.
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
    /// Throws cv::Exception if a value makes no sense (dark above bright, hours or degrees out of range).
    explicit DayNight(const DayNightRule& rule = {});

    /// The phase at `time`, given luminance and saturation of the image taken then. Times need not rise.
    Phase update(double luminance, std::chrono::system_clock::time_point time, double saturation = 1);

    Phase phase() const { return m_phase; }
    int flips() const { return m_flips; }  ///< changes since the first update

private:
    /// Night below `low`, day above `high`, each held for a while.
    Phase byLevel(double level, double low, double high, std::chrono::system_clock::time_point time);

    DayNightRule m_rule;
    Phase m_phase = Phase::Day;
    bool m_first = true;
    bool m_leaving = false;  ///< past the other threshold since m_since, not yet for `hold`
    std::chrono::system_clock::time_point m_since;
    int m_flips = 0;
};

/// Degrees above the horizon at a time and place (degrees north and east), good to about a quarter of a
/// degree between 1950 and 2050; refraction is left out.
double sunElevation(std::chrono::system_clock::time_point time, double latitude, double longitude);

}  // namespace mpm::pipeline
