#include <algorithm>
#include <cmath>

#include "street/actors/body.hpp"

namespace mpm::street {
namespace {

using Profile = std::vector<cv::Point2f>;  // (ahead, up); convex, anticlockwise seen from the left

struct Shape {
    Profile hull, cabin;
    float halfWidth, roofHalfWidth;
    float axle;  ///< distance of the wheels from the middle
    float wheel;
};

const Shape& shapeOf(int model) {
    static const Shape shapes[] = {
        // hatchback
        {{{-1.95f, 0.28f},
          {1.92f, 0.28f},
          {2.0f, 0.55f},
          {1.9f, 0.78f},
          {1.0f, 0.96f},
          {-1.75f, 1.0f},
          {-2.0f, 0.8f}},
         {{-1.85f, 0.95f}, {1.05f, 0.93f}, {0.25f, 1.45f}, {-1.35f, 1.48f}},
         0.86f,
         0.64f,
         1.25f,
         0.31f},
        // saloon
        {{{-2.25f, 0.3f},
          {2.15f, 0.28f},
          {2.25f, 0.55f},
          {2.1f, 0.76f},
          {1.0f, 0.93f},
          {-1.6f, 0.98f},
          {-2.2f, 0.92f},
          {-2.3f, 0.6f}},
         {{-1.7f, 0.94f}, {1.0f, 0.91f}, {0.2f, 1.4f}, {-1.05f, 1.42f}},
         0.88f,
         0.64f,
         1.35f,
         0.32f},
        // estate, high
        {{{-2.2f, 0.34f},
          {2.1f, 0.34f},
          {2.2f, 0.65f},
          {2.1f, 0.92f},
          {1.05f, 1.08f},
          {-2.1f, 1.1f},
          {-2.25f, 0.8f}},
         {{-2.1f, 1.05f}, {1.1f, 1.05f}, {0.45f, 1.68f}, {-1.85f, 1.7f}},
         0.92f,
         0.7f,
         1.35f,
         0.36f},
        // van
        {{{-2.5f, 0.32f}, {2.3f, 0.3f}, {2.4f, 0.7f}, {2.2f, 1.05f}, {1.75f, 1.15f}, {-2.5f, 1.15f}},
         {{-2.5f, 1.1f}, {1.8f, 1.1f}, {1.1f, 1.95f}, {-2.45f, 2.0f}},
         0.96f,
         0.86f,
         1.55f,
         0.34f},
    };
    return shapes[model & 3];
}

void addSide(Actor& actor, const Frame3& frame, const Profile& profile, float lowWidth, float highWidth,
             float low, float high, float sign, const cv::Vec3f& colour, const cv::Vec3f& inside,
             const cv::Vec3f& eye, Shine shine = Shine::Lacquer) {
    Facet facet;
    facet.colour = colour;
    facet.shine = shine;
    for (const auto& p : profile) {
        const float t = (p.y - low) / (high - low);
        facet.points.push_back(frame.at(p.x, p.y, sign * (lowWidth + (highWidth - lowWidth) * t)));
    }
    addFacing(actor, facet, inside, eye);
}

/// Adds strips across the car, each between two neighbouring corners of the profile.
void addStrips(Actor& actor, const Frame3& frame, const Profile& profile, float lowWidth, float highWidth,
               float low, float high, const cv::Vec3f& colour, const cv::Vec3f& inside,
               const cv::Vec3f& eye) {
    for (size_t i = 0; i < profile.size(); ++i) {
        const auto &a = profile[i], &b = profile[(i + 1) % profile.size()];
        const auto width = [&](float y) {
            return lowWidth + (highWidth - lowWidth) * (y - low) / (high - low);
        };
        Facet facet;
        facet.colour = colour;
        facet.shine = Shine::Lacquer;
        facet.points = {frame.at(a.x, a.y, -width(a.y)), frame.at(a.x, a.y, width(a.y)),
                        frame.at(b.x, b.y, width(b.y)), frame.at(b.x, b.y, -width(b.y))};
        addFacing(actor, facet, inside, eye);
    }
}

void addWheels(Actor& actor, const Frame3& frame, const Shape& shape, const cv::Vec3f& inside,
               const cv::Vec3f& eye) {
    for (float end : {-1.0f, 1.0f}) {
        for (float sign : {-1.0f, 1.0f}) {
            for (const auto& [radius, tone, out] :
                 {std::tuple{shape.wheel * 1.18f, 0.05f, 0.005f}, std::tuple{shape.wheel, 0.09f, 0.01f},
                  std::tuple{shape.wheel * 0.6f, 0.45f, 0.015f}}) {
                Facet facet;
                facet.colour = cv::Vec3f::all(tone);
                for (int i = 0; i < 14; ++i) {
                    const float angle = static_cast<float>(i) * 6.2832f / 14;
                    const float up = std::max(0.0f, shape.wheel + radius * std::cos(angle));
                    facet.points.push_back(frame.at(end * shape.axle + radius * std::sin(angle), up,
                                                    sign * (shape.halfWidth + out)));
                }
                addFacing(actor, facet, inside, eye);
            }
        }
    }
}

void addPanel(Actor& actor, const Frame3& frame, float ahead, float up, float left, float halfHeight,
              float halfWidth, const cv::Vec3f& colour, Shine shine, const cv::Vec3f& inside,
              const cv::Vec3f& eye) {
    Facet facet;
    facet.colour = colour;
    facet.shine = shine;
    facet.points = {frame.at(ahead, up - halfHeight, left - halfWidth),
                    frame.at(ahead, up - halfHeight, left + halfWidth),
                    frame.at(ahead, up + halfHeight, left + halfWidth),
                    frame.at(ahead, up + halfHeight, left - halfWidth)};
    addFacing(actor, facet, inside, eye);
}

void addEnds(Actor& actor, const Frame3& frame, const Shape& shape, const cv::Vec3f& inside,
             const cv::Vec3f& eye) {
    float front = -9, back = 9;
    for (const auto& p : shape.hull) {
        front = std::max(front, p.x);
        back = std::min(back, p.x);
    }
    const float lampUp = shape.wheel * 2.05f, lampSide = shape.halfWidth - 0.2f;
    addPanel(actor, frame, front + 0.01f, 0.42f, 0, 0.1f, shape.halfWidth * 0.55f, {0.06f, 0.06f, 0.06f},
             Shine::None, inside, eye);
    addPanel(actor, frame, front + 0.02f, 0.42f, 0, 0.055f, 0.26f, {0.9f, 0.9f, 0.88f}, Shine::None, inside,
             eye);
    addPanel(actor, frame, back - 0.02f, 0.55f, 0, 0.055f, 0.26f, {0.85f, 0.75f, 0.2f}, Shine::None, inside,
             eye);
    for (float sign : {-1.0f, 1.0f}) {
        addPanel(actor, frame, front + 0.01f, lampUp, sign * lampSide, 0.085f, 0.16f, {0.85f, 0.87f, 0.9f},
                 Shine::Head, inside, eye);
        addPanel(actor, frame, back - 0.01f, lampUp + 0.1f, sign * (lampSide + 0.06f), 0.12f, 0.1f,
                 {0.55f, 0.05f, 0.05f}, Shine::Tail, inside, eye);
    }
}

/// Adds the windows: faces of the cabin, shrunk towards their middle.
void addGlass(Actor& actor, const Frame3& frame, const Shape& shape, float low, float high,
              const cv::Vec3f& inside, const cv::Vec3f& eye) {
    const cv::Vec3f tint(0.10f, 0.12f, 0.14f);
    const auto& c = shape.cabin;
    const auto width = [&](float y) {
        return shape.halfWidth * 0.97f +
               (shape.roofHalfWidth - shape.halfWidth * 0.97f) * (y - low) / (high - low);
    };
    for (const auto& [i, j] : {std::pair{1, 2}, std::pair{0, 3}}) {  // windscreen, rear window
        const cv::Point2f a = c[i] + (c[j] - c[i]) * 0.12f, b = c[i] + (c[j] - c[i]) * 0.9f;
        const float nudge = i == 1 ? 0.012f : -0.012f;
        Facet facet;
        facet.colour = tint;
        facet.shine = Shine::Glass;
        facet.points = {
            frame.at(a.x + nudge, a.y, -width(a.y) * 0.88f), frame.at(a.x + nudge, a.y, width(a.y) * 0.88f),
            frame.at(b.x + nudge, b.y, width(b.y) * 0.86f), frame.at(b.x + nudge, b.y, -width(b.y) * 0.86f)};
        if (shape.cabin[3].x > -2.0f || i == 1) addFacing(actor, facet, inside, eye);
    }
    const bool van = shape.cabin[3].y > 1.9f;
    const auto lerp = [&](float t, bool top) {
        return top ? c[3] + (c[2] - c[3]) * t : c[0] + (c[1] - c[0]) * t;
    };
    const std::vector<std::pair<float, float>> panes =
        van ? std::vector<std::pair<float, float>>{{0.72f, 0.95f}}
            : std::vector<std::pair<float, float>>{{0.06f, 0.48f}, {0.52f, 0.95f}};
    for (const auto& [from, to] : panes) {
        Profile pane;
        for (const auto& [t, up] :
             {std::pair{from, 0.12f}, std::pair{to, 0.12f}, std::pair{to, 0.84f}, std::pair{from, 0.84f}}) {
            pane.push_back(lerp(t, false) + (lerp(t, true) - lerp(t, false)) * up);
        }
        for (float sign : {-1.0f, 1.0f}) {
            addSide(actor, frame, pane, shape.halfWidth * 0.97f + 0.012f, shape.roofHalfWidth + 0.012f, low,
                    high, sign, tint, inside, eye, Shine::Glass);
        }
    }
}

}  // namespace

Actor makeCar(const ParkedCar& car, bool driving, const cv::Vec3f& eye) {
    const Shape& shape = shapeOf(car.model);
    Actor actor;
    actor.label = kCar;
    actor.centre = {car.x, 0, car.z};
    actor.forward = {0, 0, car.heading};
    actor.length = 4.3f;
    actor.width = 2 * shape.halfWidth;
    actor.height = shape.cabin[2].y;
    actor.lights = driving;
    const Frame3 frame{actor.centre, actor.forward};
    const cv::Vec3f inside = frame.at(0, 0.75f, 0), above = frame.at(-0.3f, 1.2f, 0);
    const float w = shape.halfWidth, low = shape.cabin[0].y - 0.02f, high = shape.cabin[3].y;
    addStrips(actor, frame, shape.hull, w, w, 0, 1, car.paint, inside, eye);
    for (float sign : {-1.0f, 1.0f})
        addSide(actor, frame, shape.hull, w, w, 0, 1, sign, car.paint, inside, eye);
    addWheels(actor, frame, shape, inside, eye);
    addEnds(actor, frame, shape, inside, eye);
    addStrips(actor, frame, shape.cabin, w * 0.97f, shape.roofHalfWidth, low, high, car.paint, above, eye);
    for (float sign : {-1.0f, 1.0f})
        addSide(actor, frame, shape.cabin, w * 0.97f, shape.roofHalfWidth, low, high, sign, car.paint, above,
                eye);
    addGlass(actor, frame, shape, low, high, above, eye);
    return actor;
}

}  // namespace mpm::street
