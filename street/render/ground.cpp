#include "street/render/gbuffer.hpp"

#include "street/render/noise.hpp"

namespace mpm::street {
namespace {

float fade(float size, float metresPerPixel) {
    return std::max(0.0f, std::min(1.0f, size / metresPerPixel - 0.7f));
}

/// Returns the share of paint on the road at (x, z), 0..1.
float paintAt(const Layout& layout, float x, float z) {
    const float edge = layout.roadHalf - 0.35f - std::abs(x);
    if (layout.crossing && std::abs(z - layout.crossingZ) < 1.6f && edge > -0.1f) {
        return std::fmod(std::abs(x) + 0.3f, 1.2f) < 0.6f ? 1.0f : 0.0f;
    }
    const float toCrossing = std::abs(z - layout.crossingZ);
    if (layout.crossing && toCrossing > 2.4f && toCrossing < 2.7f) return 0.9f;
    if (layout.centreLine && std::abs(x) < 0.06f && std::fmod(std::abs(z), 6.0f) < 3.6f) return 1.0f;
    return 0.0f;
}

cv::Vec3f asphalt(const Layout& layout, float x, float z, float footprint) {
    const auto seed = static_cast<uint32_t>(layout.seed);
    const float grain = fade(0.02f, footprint) * (valueNoise(x * 45, z * 45, seed) - 0.5f);
    const float blotches = fractalNoise(x * 0.5f, z * 0.22f, 4, seed + 1) - 0.5f;
    const float lane = std::abs(std::abs(x) - layout.roadHalf * 0.42f);
    const float tracks = std::exp(-8 * (lane - 0.75f) * (lane - 0.75f));
    const float patch = valueNoise(x * 0.3f + 40, z * 0.09f, seed + 9) > 0.72f ? -0.05f : 0.0f;
    const float grey = 0.40f + 0.10f * grain + 0.12f * blotches - 0.025f * tracks + patch;
    cv::Vec3f colour(grey * 1.0f, grey * 0.995f, grey * 0.985f);
    const float crack = std::abs(fractalNoise(x * 0.8f, z * 0.8f, 3, seed + 4) - 0.5f);
    const bool worn = valueNoise(x * 0.15f, z * 0.1f, seed + 6) > 0.6f;
    if (worn && crack < 0.004f) colour *= 1 - 0.16f * fade(0.03f, footprint);
    const float dx = std::fmod(std::abs(x - 1.1f), 50.0f), dz = std::fmod(std::abs(z - 7), 19.0f) - 9.5f;
    const float hole = std::sqrt(dx * dx + dz * dz);
    if (hole < 0.36f) colour *= hole > 0.31f ? 0.6f : 0.78f;
    return colour;
}

Surface roadAt(const Layout& layout, float x, float z, float footprint) {
    Surface surface;
    surface.label = kRoad;
    surface.colour = asphalt(layout, x, z, footprint);
    const float gutter = layout.roadHalf - std::abs(x);
    if (gutter < 0.3f) surface.colour *= 0.82f;
    const float doubleYellow = std::min(std::abs(gutter - 0.42f), std::abs(gutter - 0.58f));
    const float wear = 0.75f + 0.3f * valueNoise(x * 3, z * 3, static_cast<uint32_t>(layout.seed) + 2);
    if (doubleYellow < 0.045f && layout.seed % 3 != 0) {
        surface.colour =
            surface.colour * 0.25f + cv::Vec3f(0.78f, 0.66f, 0.18f) * (0.75f * std::min(1.0f, wear));
    }
    const float paint = paintAt(layout, x, z) * std::min(1.0f, wear);
    surface.colour = surface.colour * (1 - paint) + cv::Vec3f(0.86f, 0.86f, 0.84f) * paint;
    return surface;
}

Surface pavementAt(const Layout& layout, float x, float z, float footprint) {
    const auto seed = static_cast<uint32_t>(layout.seed) + 21;
    Surface surface;
    const float beyond = std::abs(x) - layout.roadHalf;
    if (beyond > layout.pavement + 0.05f) {  // gardens
        const float tufts = fractalNoise(x * 2.5f, z * 2.5f, 3, seed);
        surface.label = kTree;
        surface.colour = cv::Vec3f(0.27f, 0.36f, 0.15f) * (0.6f + 0.8f * tufts);
        return surface;
    }
    surface.label = kPavement;
    const float grain = fractalNoise(x * 2, z * 2, 3, seed) - 0.5f;
    if (beyond < 0.16f) {
        surface.colour = cv::Vec3f(0.62f, 0.61f, 0.58f) * (1 + 0.2f * grain);
        if (std::fmod(std::abs(z), 0.9f) < 0.03f) surface.colour *= 1 - 0.25f * fade(0.04f, footprint);
        return surface;
    }
    const float size = 0.62f, u = std::abs(x) / size, v = z / size;
    const float row = std::floor(u), shifted = v + (static_cast<int>(row) & 1 ? 0.5f : 0.0f);
    const float tone = hashUnit(static_cast<int>(row), static_cast<int>(std::floor(shifted)), seed);
    surface.colour = cv::Vec3f(0.60f, 0.57f, 0.53f) *
                     (0.95f + 0.16f * (tone - 0.5f) * fade(0.3f, footprint) + 0.18f * grain);
    const bool joint = u - row < 0.035f || shifted - std::floor(shifted) < 0.035f;
    if (joint) surface.colour *= 1 - 0.28f * fade(0.03f, footprint);
    return surface;
}

}  // namespace

void layGround(Gbuffer& buffer, const Layout& layout) {
    const cv::Vec3f eye = buffer.camera().position;
    const float focal = buffer.camera().focal;
    buffer.ground([&](const cv::Vec3f& ray, float& t) {
        t = -eye[1] / ray[1];
        const float x = eye[0] + ray[0] * t, z = eye[2] + ray[2] * t;
        const float raised = (layout.kerb - eye[1]) / ray[1];
        const float raisedX = eye[0] + ray[0] * raised;
        // A pixel covers more ground along the view than across the view. The pixel's size is the geometric
        // mean of both lengths; smaller details fade.
        const float stretch = std::min(12.0f, 1 / std::sqrt(std::max(1e-4f, -ray[1])));
        if (std::abs(x) < layout.roadHalf && std::abs(raisedX) < layout.roadHalf) {
            return roadAt(layout, x, z, t / focal * stretch);
        }
        if (std::abs(raisedX) >= layout.roadHalf) {
            t = raised;
            return pavementAt(layout, raisedX, eye[2] + ray[2] * raised, raised / focal * stretch);
        }
        // The ray ends at the vertical face of the kerb, below the pavement.
        const float side = x > 0 ? layout.roadHalf : -layout.roadHalf;
        t = (side - eye[0]) / ray[0];
        Surface face;
        face.label = kPavement;
        face.colour = {0.50f, 0.49f, 0.47f};
        face.normal = {x > 0 ? -1.0f : 1.0f, 0, 0};
        return face;
    });
}

}  // namespace mpm::street
