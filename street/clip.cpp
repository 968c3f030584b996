#include "street/street.hpp"

#include <map>

namespace mpm::street {

namespace {

const std::map<std::string, ClipLight>& lights() {
    constexpr NightParameters kDay{1, 4000, 0.003}, kDusk{1, 1000, 0.005}, kNight{1, 250, 0.01};
    static const std::map<std::string, ClipLight> kLights = {
        {"day", {13, kDay, Script::None}},          {"dusk", {19.3, kDusk, Script::None}},
        {"night", {23, kNight, Script::None}},      {"rain", {13, kDay, Script::Rain}},
        {"shadows", {13, kDay, Script::Shadows}},   {"headlights", {23, kNight, Script::Headlights}},
        {"insects", {23, kNight, Script::Insects}},
    };
    return kLights;
}

}  // namespace

ClipLight clipLight(const std::string& name) {
    const auto found = lights().find(name);
    if (found != lights().end()) return found->second;
    std::string names;
    for (const auto& [known, light] : lights())
        names += (names.empty() ? "" : ", ") + known;
    CV_Error(cv::Error::StsBadArg, "light \"" + name + "\": expected one of " + names);
}

std::vector<std::string> clipLights() {
    std::vector<std::string> names;
    for (const auto& [name, light] : lights())
        names.push_back(name);
    return names;
}

Clip::Clip(cv::Size size, const ClipLight& light, double rate, int seed)
    : m_light(light), m_rate(rate), m_seed(seed), m_street(size, static_cast<uint64_t>(seed)) {}

StreetFrame Clip::frame(int number, int noise) {
    const double seconds = m_rate > 0 ? number / m_rate : 0;
    StreetFrame seen = m_street.at(m_light.hour + seconds / 3600, seconds);
    paintScript(m_light.script, seconds, static_cast<uint64_t>(m_seed), seen);
    const auto seed = static_cast<uint64_t>(m_seed) << 32 | static_cast<uint64_t>(number);
    constexpr uint64_t kApart = 0x9E3779B97F4A7C15;
    seen.image = night(seen.image, m_light.noise, seed + kApart * static_cast<uint64_t>(noise));
    return seen;
}

}  // namespace mpm::street
