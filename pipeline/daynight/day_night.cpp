#include "pipeline/daynight/day_night.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include <opencv2/imgproc.hpp>

namespace mpm::pipeline {

namespace {

void checkRule(const DayNightRule& rule) {
    CV_Check(rule.dark, rule.dark >= 0 && rule.dark < rule.bright && rule.bright <= 1,
             "dark, bright: expected 0 <= dark < bright <= 1");
    CV_Check(rule.grey, rule.grey >= 0 && rule.grey < rule.coloured && rule.coloured <= 1,
             "grey, coloured: expected 0 <= grey < coloured <= 1");
    CV_Check(double(rule.hold.count()), rule.hold.count() >= 0, "hold: expected no negative time");
    CV_Check(rule.dayFrom, rule.dayFrom >= 0 && rule.dayFrom < 1440, "dayFrom: expected minutes of a day");
    CV_Check(rule.nightFrom, rule.nightFrom >= 0 && rule.nightFrom < 1440,
             "nightFrom: expected minutes of a day");
    CV_Check(rule.latitude, rule.latitude >= -90 && rule.latitude <= 90,
             "latitude: expected -90 to 90 degrees");
    CV_Check(rule.longitude, rule.longitude >= -180 && rule.longitude <= 180,
             "longitude: expected -180 to 180");
}

Phase bySchedule(const DayNightRule& rule, std::chrono::system_clock::time_point time) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
    std::tm local{};
    localtime_r(&seconds, &local);
    const int minute = local.tm_hour * 60 + local.tm_min;
    // The day may span midnight, for example from 20:00 to 04:00 for a night shift.
    const bool day = rule.dayFrom <= rule.nightFrom ? minute >= rule.dayFrom && minute < rule.nightFrom
                                                    : minute >= rule.dayFrom || minute < rule.nightFrom;
    return day ? Phase::Day : Phase::Night;
}

}  // namespace

double luminance(const cv::Mat& image) {
    CV_Check(image.type(), image.type() == CV_8UC3 || image.type() == CV_8UC1,
             "image: expected 8-bit BGR or grey");
    CV_Check(image.total(), !image.empty(), "image: expected one that is not empty");
    cv::Mat grey = image;
    if (image.channels() == 3) cv::cvtColor(image, grey, cv::COLOR_BGR2GRAY);
    std::array<std::size_t, 256> counts{};
    for (int y = 0; y < grey.rows; ++y)
        for (int x = 0; x < grey.cols; ++x)
            ++counts[grey.at<uchar>(y, x)];
    std::size_t below = 0;
    int median = 0;
    while (below + counts[median] <= grey.total() / 2)
        below += counts[median++];
    return median / 255.0;
}

double saturation(const cv::Mat& image) {
    CV_Check(image.type(), image.type() == CV_8UC3 || image.type() == CV_8UC1,
             "image: expected 8-bit BGR or grey");
    CV_Check(image.total(), !image.empty(), "image: expected one that is not empty");
    if (image.channels() == 1) return 0;
    const int step = std::max(1, image.rows / 240);  // uses only some rows and columns
    std::array<std::size_t, 256> counts{};
    std::size_t all = 0;
    for (int y = 0; y < image.rows; y += step) {
        const auto* row = image.ptr<cv::Vec3b>(y);
        for (int x = 0; x < image.cols; x += step, ++all)
            ++counts[std::max({row[x][0], row[x][1], row[x][2]}) -
                     std::min({row[x][0], row[x][1], row[x][2]})];
    }
    std::size_t above = 0;
    int level = 255;
    while (level > 0 && above + counts[level] < all / 10 + 1)
        above += counts[level--];
    return level / 255.0;
}

DayNight::DayNight(const DayNightRule& rule) : m_rule(rule) {
    checkRule(rule);
}

Phase DayNight::update(double luminance, std::chrono::system_clock::time_point time, double saturation) {
    const Phase before = m_phase;
    switch (m_rule.by) {
        case DayNightRule::By::Luminance:
            m_phase = byLevel(luminance, m_rule.dark, m_rule.bright, time);
            break;
        case DayNightRule::By::Infrared:
            m_phase = byLevel(saturation, m_rule.grey, m_rule.coloured, time);
            break;
        case DayNightRule::By::Schedule:
            m_phase = bySchedule(m_rule, time);
            break;
        case DayNightRule::By::Sun:
            m_phase = sunElevation(time, m_rule.latitude, m_rule.longitude) >= m_rule.elevation
                          ? Phase::Day
                          : Phase::Night;
            break;
        case DayNightRule::By::Hand:
            m_phase = m_rule.hand;
            break;
    }
    if (!m_first && m_phase != before) ++m_flips;
    m_first = false;
    return m_phase;
}

Phase DayNight::byLevel(double level, double low, double high, std::chrono::system_clock::time_point time) {
    // Decides the first image without waiting for `hold`. A level between the thresholds counts as day.
    if (m_first) return level < low ? Phase::Night : Phase::Day;
    const bool past = m_phase == Phase::Day ? level < low : level > high;
    if (!past) {
        m_leaving = false;
        return m_phase;
    }
    if (!m_leaving || time < m_since) {  // starts the wait again if the clock was set back
        m_leaving = true;
        m_since = time;
    }
    if (time - m_since < m_rule.hold) return m_phase;
    m_leaving = false;
    return m_phase == Phase::Day ? Phase::Night : Phase::Day;
}

namespace {

constexpr double kPi = 3.14159265358979323846;
double radians(double degrees) {
    return degrees * kPi / 180;
}

}  // namespace

/// Uses the low-precision solar coordinates of the Astronomical Almanac. Computes the ecliptic longitude from
/// the days since noon of 2000-01-01, then declination and right ascension, then the hour angle from the
/// sidereal time.
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
