#include "street/render/canvas.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "street/render/gbuffer.hpp"

namespace mpm::street {
namespace {

/// The colours of sky and sun if the sun is at this height (sine of the elevation).
struct SkyKey {
    float height;
    cv::Vec3f above, low, sun;
};

const SkyKey kSkyKeys[] = {
    {-0.45f, {0.006f, 0.009f, 0.022f}, {0.020f, 0.021f, 0.032f}, {0.014f, 0.018f, 0.028f}},
    {-0.18f, {0.012f, 0.020f, 0.055f}, {0.060f, 0.050f, 0.066f}, {0.010f, 0.012f, 0.018f}},
    {-0.04f, {0.050f, 0.080f, 0.180f}, {0.480f, 0.250f, 0.150f}, {0.060f, 0.030f, 0.012f}},
    {0.06f, {0.110f, 0.200f, 0.420f}, {0.780f, 0.470f, 0.260f}, {1.100f, 0.520f, 0.190f}},
    {0.25f, {0.150f, 0.310f, 0.680f}, {0.640f, 0.680f, 0.720f}, {1.750f, 1.300f, 0.850f}},
    {0.85f, {0.140f, 0.330f, 0.800f}, {0.600f, 0.730f, 0.880f}, {2.100f, 1.900f, 1.600f}},
};

SkyKey skyAt(float height) {
    constexpr std::size_t kLast = std::size(kSkyKeys) - 1;
    if (height <= kSkyKeys[0].height) return kSkyKeys[0];
    if (height >= kSkyKeys[kLast].height) return kSkyKeys[kLast];
    std::size_t above = 1;
    while (above < kLast && kSkyKeys[above].height <= height)
        ++above;
    const SkyKey &a = kSkyKeys[above - 1], &b = kSkyKeys[above];
    const float t = (height - a.height) / (b.height - a.height);
    return {height, a.above * (1 - t) + b.above * t, a.low * (1 - t) + b.low * t,
            a.sun * (1 - t) + b.sun * t};
}

cv::Vec3f sunDirection(double hour, float turn) {
    const double angle = (hour - 12) / 12 * 3.14159265358979;  // 0 at noon
    const double latitude = 0.72, declination = 0.25;
    const double up = std::sin(latitude) * std::sin(declination) +
                      std::cos(latitude) * std::cos(declination) * std::cos(angle);
    const double east = -std::cos(declination) * std::sin(angle);
    const double north = std::cos(latitude) * std::sin(declination) -
                         std::sin(latitude) * std::cos(declination) * std::cos(angle);
    const auto c = static_cast<float>(std::cos(turn)), s = static_cast<float>(std::sin(turn));
    const auto e = static_cast<float>(east), n = static_cast<float>(north);
    return {c * e - s * n, static_cast<float>(up), s * e + c * n};
}

cv::Vec3f moonDirection(double hour, float turn) {
    const auto angle = static_cast<float>(std::fmod(hour + 12, 24) / 24 * 1.2 - 0.6) + 0.3f * std::sin(turn);
    return {0.8f * std::sin(angle), 0.6f, 0.8f * std::cos(angle)};
}

float smooth(float low, float high, float value) {
    const float t = std::max(0.0f, std::min(1.0f, (value - low) / (high - low)));
    return t * t * (3 - 2 * t);
}

std::array<float, 256> makeLinear() {
    std::array<float, 256> table{};
    for (int i = 0; i < 256; ++i)
        table[static_cast<size_t>(i)] = std::pow(static_cast<float>(i) / 255.0f, 2.2f);
    return table;
}

/// Returns a table that applies a tone curve and gamma to linear light from 0 to 8. The index is the light's
/// square root, in 4096 steps.
std::array<uchar, 4097> makeFilm() {
    std::array<uchar, 4097> table{};
    for (int i = 0; i <= 4096; ++i) {
        const float root = static_cast<float>(i) / 4096.0f, x = 8 * root * root;
        const float film = x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f);
        table[static_cast<size_t>(i)] =
            cv::saturate_cast<uchar>(255 * std::pow(std::min(1.0f, film), 1 / 2.2f));
    }
    return table;
}

}  // namespace

float linearOf(uchar value) {
    static const auto table = makeLinear();
    return table[value];
}

Light::Light(const Layout& layout, double hourOfDay) : hour(hourOfDay) {
    toSun = sunDirection(hour, layout.sunTurn);
    const SkyKey key = skyAt(toSun[1]);
    const float overcast = layout.clouds * layout.clouds;
    sun = key.sun * (1 - 0.75f * overcast);
    const cv::Vec3f grey = cv::Vec3f::all((key.above[0] + key.above[1] + key.above[2]) / 3);
    skyAbove = key.above * (1 - 0.6f * overcast) + grey * (0.6f * overcast);
    skyLow = key.low;
    dark = 1 - smooth(-0.16f, 0.06f, toSun[1]);
    if (toSun[1] < -0.05f) toSun = moonDirection(hour, layout.sunTurn);
    const float day = 0.9f + 0.5f * overcast;
    ambientUp = (skyAbove * 0.75f + skyLow * 0.25f) * day + cv::Vec3f(0.010f, 0.009f, 0.010f) * dark;
    ambientSide =
        (skyAbove * 0.35f + skyLow * 0.40f) * (0.8f * day) + cv::Vec3f(0.010f, 0.009f, 0.008f) * dark;
    ambientDown = (skyLow * 0.25f + sun * 0.06f) * day + cv::Vec3f(0.006f, 0.005f, 0.004f) * dark;
    const cv::Vec3f white(0.95f, 0.95f, 1.0f), sodium(1.1f, 0.72f, 0.36f);
    const float warm = 0.5f + 0.5f * layout.warmth;
    lamp = (white * (1 - warm) + sodium * warm) * (1.15f * dark);
    exposure = 0.78f + 1.0f * dark;
}

cv::Vec3f Light::ambient(const cv::Vec3f& normal) const {
    const float up = normal[1];
    return up > 0 ? ambientSide * (1 - up) + ambientUp * up : ambientSide * (1 + up) - ambientDown * up;
}

cv::Vec3b Light::toPixel(const cv::Vec3f& linear) const {
    static const auto film = makeFilm();
    cv::Vec3b pixel;
    for (int i = 0; i < 3; ++i) {
        const float x = std::max(0.0f, std::min(8.0f, linear[i] * exposure));
        pixel[2 - i] = film[static_cast<size_t>(std::sqrt(x * 0.125f) * 4096)];
    }
    return pixel;
}

cv::Vec3f Light::glow(uchar kind) const {
    const cv::Vec3f reflection = (skyLow * 0.6f + skyAbove * 0.4f) * 0.30f;
    const cv::Vec3f warm(1.0f, 0.72f, 0.42f);
    switch (kind) {
        case kDark:
            return {0, 0, 0};
        case kLampHead:
            return lamp * 5.0f;
        case kRedLight:
            return cv::Vec3f(1.6f, 0.08f, 0.05f) * (1 - 0.4f * dark);
        case kShopWindow:
            return reflection +
                   cv::Vec3f(0.9f, 0.8f, 0.62f) * (hour > 23.2 || hour < 6.5 ? 0.03f * dark : 0.5f * dark);
        case kGlass:
            return reflection;
        default:
            break;
    }
    const int lot = kind - kWindow;
    const double bed = 21.2 + (lot * 37 % 101) * 0.034, rise = 5.3 + (lot * 53 % 97) * 0.026;
    const bool home = lot * 29 % 100 < 62, lit = home && (hour > 15 ? hour < bed : hour > rise && hour < 12);
    const float strength = 0.16f + 0.0035f * static_cast<float>(lot * 71 % 100);
    return reflection + (lit ? warm * (strength * dark) : cv::Vec3f(0, 0, 0));
}

Occluders::Occluders(const Layout& layout) {
    for (const auto& house : layout.houses) {
        Box box;
        houseBox(house, box.low, box.high);
        box.high[1] = 0.5f * (house.eaves + house.ridge);
        m_boxes.push_back(box);
    }
    for (const auto& tree : layout.trees) {
        m_balls.push_back({tree.foot + cv::Vec3f(0, tree.height - tree.crown, 0), tree.crown * 0.92f});
    }
}

float Occluders::sunAt(const cv::Vec3f& point, const cv::Vec3f& toSun) const {
    for (const auto& box : m_boxes) {
        float enter = 0.05f, leave = 1e9f;
        for (int axis = 0; axis < 3 && enter < leave; ++axis) {
            const float inverse = 1 / (std::abs(toSun[axis]) < 1e-6f ? 1e-6f : toSun[axis]);
            float a = (box.low[axis] - point[axis]) * inverse, b = (box.high[axis] - point[axis]) * inverse;
            if (a > b) std::swap(a, b);
            enter = std::max(enter, a);
            leave = std::min(leave, b);
        }
        if (enter < leave - 0.05f) return 0;
    }
    float through = 1;
    for (const auto& ball : m_balls) {
        const cv::Vec3f to = ball.centre - point;
        const float along = to.dot(toSun);
        if (along <= 0) continue;
        const float miss = std::sqrt(std::max(0.0f, to.dot(to) - along * along)) / ball.radius;
        if (miss < 1) through *= 0.15f + 0.85f * smooth(0.72f, 1.0f, miss);
    }
    return through;
}

float lampLight(const Layout& layout, const cv::Vec3f& point, const cv::Vec3f& normal) {
    float sum = 0;
    for (const auto& lamp : layout.lamps) {
        const cv::Vec3f to = lampHead(lamp) - cv::Vec3f(0, 0.15f, 0) - point;
        const float square = to.dot(to);
        if (square > 900) continue;
        const float distance = std::sqrt(square);
        const float facing = std::max(0.0f, normal.dot(to) / distance * 0.85f + 0.15f);
        const float cone = smooth(-0.1f, 0.75f, to[1] / distance);  // lamps shine down, not up
        sum += facing * (0.12f + 0.88f * cone) * 34.0f / (4.0f + square);
    }
    return sum;
}

}  // namespace mpm::street
