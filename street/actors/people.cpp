#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "street/actors/body.hpp"

namespace mpm::street {
namespace {

struct Clothes {
    cv::Vec3f coat, trousers, skin, hair, shoes;
    float height;
};

Clothes dress(uint64_t look) {
    static const cv::Vec3f cloth[] = {{0.12f, 0.14f, 0.20f}, {0.45f, 0.12f, 0.12f}, {0.20f, 0.28f, 0.42f},
                                      {0.55f, 0.50f, 0.42f}, {0.16f, 0.30f, 0.20f}, {0.72f, 0.70f, 0.66f},
                                      {0.62f, 0.42f, 0.14f}, {0.08f, 0.08f, 0.09f}, {0.40f, 0.22f, 0.42f}};
    static const cv::Vec3f legs[] = {
        {0.13f, 0.17f, 0.28f}, {0.09f, 0.09f, 0.10f}, {0.38f, 0.33f, 0.26f}, {0.25f, 0.25f, 0.27f}};
    static const cv::Vec3f skins[] = {
        {0.80f, 0.62f, 0.51f}, {0.62f, 0.44f, 0.33f}, {0.40f, 0.27f, 0.20f}, {0.86f, 0.70f, 0.60f}};
    static const cv::Vec3f hairs[] = {
        {0.10f, 0.08f, 0.07f}, {0.30f, 0.20f, 0.12f}, {0.60f, 0.48f, 0.28f}, {0.5f, 0.5f, 0.5f}};
    Random random(look);
    Clothes clothes;
    clothes.coat = cloth[random.below(9)];
    clothes.trousers = legs[random.below(4)];
    clothes.skin = skins[random.below(4)];
    clothes.hair = hairs[random.below(4)];
    clothes.shoes = cv::Vec3f::all(0.07f);
    clothes.height = static_cast<float>(random.uniform(1.55, 1.9));
    return clothes;
}

struct Limb {
    cv::Vec3f a, b;
    float ra, rb;
    cv::Vec3f colour;
};

/// Adds limbs from far to near.
void addSorted(Actor& actor, std::vector<Limb> limbs, const cv::Vec3f& eye) {
    const auto distance = [&](const Limb& limb) {
        const cv::Vec3f to = (limb.a + limb.b) * 0.5f - eye;
        return to.dot(to);
    };
    std::stable_sort(limbs.begin(), limbs.end(),
                     [&](const Limb& a, const Limb& b) { return distance(a) > distance(b); });
    for (const auto& limb : limbs)
        addLimb(actor, limb.a, limb.b, limb.ra, limb.rb, limb.colour, eye);
}

void addHead(Actor& actor, const cv::Vec3f& centre, float scale, const Clothes& clothes,
             const cv::Vec3f& eye) {
    const cv::Vec3f up(0, 0.035f * scale, 0), back = actor.forward * (-0.03f * scale);
    const bool seenFromBehind = actor.forward.dot(centre - eye) > 0;
    if (!seenFromBehind) addBall(actor, centre + up + back, 0.118f * scale, clothes.hair, eye);
    addBall(actor, centre, 0.105f * scale, clothes.skin, eye);
    if (seenFromBehind) addBall(actor, centre + up + back, 0.118f * scale, clothes.hair, eye);
}

void addWheel(Actor& actor, const cv::Vec3f& centre, const cv::Vec3f& eye) {
    constexpr int kSpokes = 14;
    for (int i = 0; i < kSpokes; ++i) {
        const auto rim = [&](int step, float radius) {
            const float angle = static_cast<float>(step) * 6.2832f / kSpokes;
            return centre + actor.forward * (radius * std::sin(angle)) +
                   cv::Vec3f(0, radius * std::cos(angle), 0);
        };
        addLimb(actor, rim(i, 0.32f), rim(i + 1, 0.32f), 0.028f, 0.028f, {0.06f, 0.06f, 0.06f}, eye);
    }
}

}  // namespace

Actor makePedestrian(const cv::Vec3f& foot, const cv::Vec3f& forward, float stride, uint64_t look,
                     const cv::Vec3f& eye) {
    const Clothes clothes = dress(look);
    const float s = clothes.height / 1.75f, swing = 0.30f * std::sin(stride),
                bob = 0.02f * std::cos(2 * stride);
    Actor actor;
    actor.label = kPedestrian;
    actor.centre = foot;
    actor.forward = forward;
    actor.length = 0.5f;
    actor.width = 0.5f;
    actor.height = clothes.height;
    const Frame3 frame{foot, forward};
    std::vector<Limb> limbs;
    for (float side : {-1.0f, 1.0f}) {
        const float step = side * swing, lift = std::max(0.0f, side * std::cos(stride)) * 0.10f;
        const cv::Vec3f hip = frame.at(0, (0.90f + bob) * s, side * 0.09f * s),
                        knee = frame.at(step * 0.6f + 0.04f, (0.48f + lift) * s, side * 0.1f * s);
        const cv::Vec3f ankle = frame.at(step - 0.03f, (0.08f + lift) * s, side * 0.1f * s);
        limbs.push_back({hip, knee, 0.095f * s, 0.07f * s, clothes.trousers});
        limbs.push_back({knee, ankle, 0.068f * s, 0.048f * s, clothes.trousers});
        limbs.push_back({ankle, ankle + forward * (0.15f * s) - cv::Vec3f(0, 0.04f * s, 0), 0.045f * s,
                         0.035f * s, clothes.shoes});
        const cv::Vec3f shoulder = frame.at(0, (1.42f + bob) * s, side * 0.20f * s),
                        elbow = frame.at(-step * 0.45f, (1.13f + bob) * s, side * 0.26f * s);
        const cv::Vec3f hand = frame.at(-step * 0.75f + 0.06f, (0.90f + bob) * s, side * 0.25f * s);
        limbs.push_back({shoulder, elbow, 0.062f * s, 0.05f * s, clothes.coat});
        limbs.push_back({elbow, hand, 0.048f * s, 0.036f * s, clothes.coat * 0.95f});
    }
    limbs.push_back({frame.at(0, (0.88f + bob) * s, 0), frame.at(0, (1.40f + bob) * s, 0), 0.155f * s,
                     0.195f * s, clothes.coat});
    addSorted(actor, limbs, eye);
    addHead(actor, frame.at(0.02f, (1.62f + bob) * s, 0), s, clothes, eye);
    return actor;
}

Actor makeBicyclist(const cv::Vec3f& foot, const cv::Vec3f& forward, float stride, uint64_t look,
                    const cv::Vec3f& eye) {
    const Clothes clothes = dress(look);
    Actor actor;
    actor.label = kBicyclist;
    actor.centre = foot;
    actor.forward = forward;
    actor.length = 1.7f;
    actor.width = 0.5f;
    actor.height = 1.75f;
    const Frame3 frame{foot, forward};
    const bool away = forward.dot(foot - eye) > 0;
    addWheel(actor, frame.at(away ? 0.53f : -0.53f, 0.35f, 0), eye);
    const cv::Vec3f crank = frame.at(-0.05f, 0.36f, 0), seat = frame.at(-0.22f, 0.92f, 0),
                    bars = frame.at(0.40f, 1.02f, 0);
    const cv::Vec3f paint = clothes.coat * 0.4f + cv::Vec3f(0.3f, 0.12f, 0.1f);
    std::vector<Limb> limbs{
        {crank, seat, 0.03f, 0.025f, paint},
        {seat - cv::Vec3f(0, 0.12f, 0), bars - cv::Vec3f(0, 0.12f, 0), 0.026f, 0.026f, paint},
        {crank, frame.at(0.38f, 0.8f, 0), 0.03f, 0.03f, paint},
        {crank, frame.at(-0.53f, 0.35f, 0), 0.022f, 0.022f, paint},
        {bars, frame.at(0.53f, 0.35f, 0), 0.026f, 0.024f, paint},
        {frame.at(0.4f, 1.05f, -0.25f), frame.at(0.4f, 1.05f, 0.25f), 0.024f, 0.024f, {0.1f, 0.1f, 0.1f}}};
    for (float side : {-1.0f, 1.0f}) {
        const float turn = stride + (side > 0 ? 3.1416f : 0.0f);
        const cv::Vec3f pedal = crank + forward * (0.17f * std::sin(turn)) +
                                cv::Vec3f(0, 0.17f * std::cos(turn), 0) + frame.side() * (0.1f * side);
        const cv::Vec3f hip = seat + cv::Vec3f(0, 0.1f, 0) + frame.side() * (0.09f * side);
        const cv::Vec3f knee = (hip + pedal) * 0.5f + forward * 0.22f + cv::Vec3f(0, 0.08f, 0);
        limbs.push_back({hip, knee, 0.09f, 0.065f, clothes.trousers});
        limbs.push_back({knee, pedal, 0.062f, 0.045f, clothes.trousers});
        limbs.push_back({pedal - forward * 0.06f, pedal + forward * 0.12f, 0.045f, 0.04f, clothes.shoes});
        const cv::Vec3f shoulder = frame.at(0.10f, 1.45f, 0.19f * side);
        limbs.push_back({shoulder, frame.at(0.4f, 1.08f, 0.22f * side), 0.055f, 0.04f, clothes.coat});
    }
    limbs.push_back({seat + cv::Vec3f(0, 0.08f, 0), frame.at(0.08f, 1.46f, 0), 0.15f, 0.185f, clothes.coat});
    addSorted(actor, limbs, eye);
    addHead(actor, frame.at(0.2f, 1.66f, 0), 1.0f, clothes, eye);
    addWheel(actor, frame.at(away ? -0.53f : 0.53f, 0.35f, 0), eye);
    return actor;
}

}  // namespace mpm::street
