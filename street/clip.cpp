#include "street/street.hpp"

#include <map>

namespace mpm::street {

ClipLight clipLight(const std::string& name) {
    static const std::map<std::string, ClipLight> kLights = {
        {"day", {13, {1, 4000, 0.003}}}, {"dusk", {19.3, {1, 1000, 0.005}}}, {"night", {23, {1, 250, 0.01}}}};
    const auto found = kLights.find(name);
    if (found == kLights.end())
        CV_Error(cv::Error::StsBadArg, "light \"" + name + "\": expected day, dusk or night");
    return found->second;
}

Clip::Clip(cv::Size size, const ClipLight& light, double rate, int seed)
    : m_light(light), m_rate(rate), m_seed(seed), m_street(size, static_cast<uint64_t>(seed)) {}

StreetFrame Clip::frame(int number) {
    const double seconds = m_rate > 0 ? number / m_rate : 0;
    StreetFrame seen = m_street.at(m_light.hour + seconds / 3600, seconds);
    const auto seed = static_cast<uint64_t>(m_seed) << 32 | static_cast<uint64_t>(number);
    seen.image = night(seen.image, m_light.noise, seed);
    return seen;
}

}  // namespace mpm::street
