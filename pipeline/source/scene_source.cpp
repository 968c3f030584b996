#include "pipeline/source/scene_source.hpp"

#include <cmath>
#include <cstdio>

#include "street/street.hpp"

namespace mpm::pipeline {

namespace {

constexpr std::uint64_t kSeed = 11;      // all users see the same street
constexpr double kRate = 10;             // frames per second without fast motion
constexpr double kSecondsPerDay = 240;   // seconds in which a day of the scene passes without fast motion
constexpr double kTrafficSeconds = 1.7;  // seconds of traffic between two frames in fast motion

// The street's sun moves as at latitude 41.25 degrees north in late April.
constexpr double kLatitude = 41.25;
constexpr std::int64_t kMidnight = 1777334400;  // 2026-04-28, UTC

}  // namespace

DayNightRule sceneRule() {
    DayNightRule rule;
    rule.by = DayNightRule::By::Sun;
    rule.latitude = kLatitude;
    rule.longitude = 0;
    rule.elevation = 0;
    return rule;
}

std::chrono::system_clock::time_point sceneTime(double seconds) {
    return std::chrono::system_clock::time_point(
        std::chrono::seconds(kMidnight + std::lround(std::fmod(seconds, 86400))));
}

SceneSource::SceneSource(const SceneOptions& options) : m_options(options) {
    CV_Check(options.size.area(), !options.size.empty(), "size: expected at least one pixel");
}

SceneSource::~SceneSource() = default;

void SceneSource::open() {
    m_street = std::make_unique<street::Street>(m_options.size, kSeed, m_options.samples);
    m_number = 0;
}

double SceneSource::rate() const {
    return kRate;
}

bool SceneSource::next(Frame& frame) {
    if (m_options.frames >= 0 && m_number >= m_options.frames) return false;
    const bool fast = m_options.framesPerDay > 0;
    const double film = static_cast<double>(m_number) / kRate;
    const double days = fast ? static_cast<double>(m_number) / m_options.framesPerDay : film / kSecondsPerDay;
    // Without fast motion, changes the light only once a second, because computing the light is slow.
    const double exact = m_options.startHour + 24 * days;
    const double hour = fast ? exact : std::floor(exact * 10) / 10;
    const street::StreetFrame seen =
        m_street->at(hour, fast ? kTrafficSeconds * static_cast<double>(m_number) : film);
    frame.image = seen.image;
    frame.number = m_number++;
    frame.time = std::chrono::system_clock::now();
    frame.seconds = exact * 3600;
    char name[32];
    std::snprintf(name, sizeof name, "street_%06lld", static_cast<long long>(frame.number));
    frame.name = name;
    return true;
}

}  // namespace mpm::pipeline
