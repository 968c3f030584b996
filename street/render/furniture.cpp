#include "street/render/gbuffer.hpp"

#include "base/random.hpp"
#include "street/render/noise.hpp"

namespace mpm::street {
namespace {

constexpr float kPi = 3.14159265f;

float lot(Random& random, double low, double high) {
    return static_cast<float>(random.uniform(low, high));
}

cv::Vec3f onSphere(Random& random) {
    const float y = lot(random, -1, 1), angle = lot(random, 0, 2 * kPi), r = std::sqrt(1 - y * y);
    return {r * std::cos(angle), y, r * std::sin(angle)};
}

void leafClump(Gbuffer& buffer, const cv::Vec3f& centre, float radius, const Surface& surface,
               Random& random) {
    std::vector<cv::Vec3f> rim;
    const float turn = lot(random, 0, 1);
    for (int i = 0; i < 5; ++i) {
        const float angle = (static_cast<float>(i) + turn) * 2 * kPi / 5,
                    r = radius * lot(random, 0.55, 1.15);
        rim.push_back(centre + cv::Vec3f(r * std::cos(angle), r * std::sin(angle), 0));
    }
    buffer.polygon(rim, surface);
}

void crown(Gbuffer& buffer, const Tree& tree, Random& random) {
    const cv::Vec3f middle = tree.foot + cv::Vec3f(0, tree.height - tree.crown * 0.95f, 0);
    const float distance = std::max(4.0f, middle[2] - buffer.camera().position[2]);
    // Draws a distant crown with fewer but larger clumps of leaves, which look the same and take less time.
    const float clump = std::max(0.10f, 0.0085f * distance),
                count = 7 * tree.crown * tree.crown / (clump * clump);
    std::vector<std::pair<cv::Vec3f, float>> boughs;
    for (int i = 0; i < 9; ++i) {
        boughs.emplace_back(middle + onSphere(random) * (tree.crown * lot(random, 0.3, 0.62)),
                            tree.crown * lot(random, 0.36, 0.58));
    }
    for (int i = 0; i < static_cast<int>(std::min(5000.0f, count)); ++i) {
        const auto& bough = boughs[static_cast<size_t>(random.below(9))];
        const cv::Vec3f out = onSphere(random);
        const cv::Vec3f at = bough.first + out * (bough.second * std::cbrt(lot(random, 0.2, 1)));
        Surface leaf;
        leaf.label = kTree;
        const cv::Vec3f radial = (at - middle) * (1 / tree.crown);
        leaf.normal = radial * 0.7f + out * 0.45f + cv::Vec3f(0, 0.25f, 0);
        const float length = std::sqrt(leaf.normal.dot(leaf.normal));
        leaf.normal *= 1 / std::max(1e-3f, length);
        const float inside = std::min(1.0f, std::sqrt(radial.dot(radial)));
        leaf.colour = tree.leaf * (lot(random, 0.72, 1.2) * (0.45f + 0.55f * inside));
        leafClump(buffer, at, clump * lot(random, 0.7, 1.25), leaf, random);
    }
}

Surface paint(const cv::Vec3f& colour, uchar label, uchar glow = kDark) {
    Surface surface;
    surface.colour = colour;
    surface.label = label;
    surface.glow = glow;
    surface.normal = {0, 0, -1};
    return surface;
}

std::vector<cv::Vec3f> disc(const cv::Vec3f& centre, float radius, int corners, float turn = 0) {
    std::vector<cv::Vec3f> rim;
    for (int i = 0; i < corners; ++i) {
        const float angle = turn + static_cast<float>(i) * 2 * kPi / static_cast<float>(corners);
        rim.push_back(centre + cv::Vec3f(radius * std::sin(angle), radius * std::cos(angle), 0));
    }
    return rim;
}

std::vector<cv::Vec3f> panel(const cv::Vec3f& centre, float halfWidth, float halfHeight) {
    const cv::Vec3f x(halfWidth, 0, 0), y(0, halfHeight, 0);
    return {centre - x - y, centre + x - y, centre + x + y, centre - x + y};
}

void trafficLight(Gbuffer& buffer, const cv::Vec3f& top) {
    const cv::Vec3f step(0, 0.34f, 0), ahead(0, 0, -0.03f);
    buffer.polygon(panel(top - step, 0.25f, 0.56f), paint({0.07f, 0.07f, 0.08f}, kSign));
    buffer.polygon(disc(top + ahead, 0.115f, 12), paint({0.5f, 0.06f, 0.05f}, kSign, kRedLight));
    buffer.polygon(disc(top - step + ahead, 0.115f, 12), paint({0.35f, 0.22f, 0.03f}, kSign));
    buffer.polygon(disc(top - step * 2 + ahead, 0.115f, 12), paint({0.04f, 0.3f, 0.14f}, kSign));
}

void limitSign(Gbuffer& buffer, const cv::Vec3f& centre) {
    const cv::Vec3f ahead(0, 0, -0.02f);
    buffer.polygon(disc(centre, 0.46f, 20), paint({0.72f, 0.07f, 0.07f}, kSign));
    buffer.polygon(disc(centre + ahead, 0.345f, 20), paint({0.92f, 0.92f, 0.9f}, kSign));
    for (float x : {-0.115f, 0.115f}) {
        buffer.polygon(panel(centre + ahead * 2 + cv::Vec3f(x, 0, 0), 0.07f, 0.155f),
                       paint({0.08f, 0.08f, 0.08f}, kSign));
    }
}

void warningSign(Gbuffer& buffer, const cv::Vec3f& centre) {
    const cv::Vec3f ahead(0, 0, -0.02f);
    buffer.polygon(disc(centre, 0.6f, 3), paint({0.75f, 0.08f, 0.07f}, kSign));
    buffer.polygon(disc(centre + ahead, 0.38f, 3), paint({0.93f, 0.92f, 0.88f}, kSign));
    buffer.polygon(panel(centre + ahead * 2, 0.045f, 0.155f), paint({0.08f, 0.08f, 0.08f}, kSign));
}

}  // namespace

void growTree(Gbuffer& buffer, const Tree& tree) {
    Random random(tree.seed);
    const Surface bark = paint(cv::Vec3f(0.30f, 0.24f, 0.18f) * lot(random, 0.8, 1.2), kTree);
    const cv::Vec3f fork =
        tree.foot + cv::Vec3f(lot(random, -0.15, 0.15), tree.height - tree.crown * 1.5f, 0);
    buffer.post(tree.foot, fork, 0.035f * tree.height * 0.8f, 0.022f * tree.height * 0.8f, bark);
    for (int i = 0; i < 4; ++i) {
        const cv::Vec3f tip =
            fork +
            cv::Vec3f(lot(random, -0.7, 0.7), lot(random, 0.7, 1.2), lot(random, -0.5, 0.5)) * tree.crown;
        buffer.post(fork, tip, 0.016f * tree.height, 0.005f * tree.height, bark);
    }
    crown(buffer, tree, random);
}

cv::Vec3f lampHead(const Lamp& lamp) {
    return lamp.foot + cv::Vec3f(lamp.reach, lamp.height + 0.12f, 0);
}

void raiseLamp(Gbuffer& buffer, const Lamp& lamp) {
    const Surface metal = paint({0.30f, 0.32f, 0.33f}, kPole);
    const cv::Vec3f top = lamp.foot + cv::Vec3f(0, lamp.height, 0), head = lampHead(lamp);
    buffer.post(lamp.foot, lamp.foot + cv::Vec3f(0, 1.1f, 0), 0.18f, 0.165f, metal);
    buffer.post(lamp.foot, top, 0.13f, 0.095f, metal);
    buffer.post(top, head, 0.08f, 0.07f, metal);
    buffer.polygon(panel(head, 0.38f, 0.10f), metal);
    buffer.polygon(panel(head - cv::Vec3f(0, 0.10f, 0.01f), 0.31f, 0.06f),
                   paint({0.85f, 0.84f, 0.78f}, kPole, kLampHead));
}

void raiseSign(Gbuffer& buffer, const SignPost& sign) {
    const cv::Vec3f top = sign.foot + cv::Vec3f(0, sign.height, 0);
    buffer.post(sign.foot, top, 0.075f, 0.075f, paint({0.42f, 0.43f, 0.44f}, kPole));
    const cv::Vec3f centre = top - cv::Vec3f(0, 0.35f, 0.07f);
    switch (sign.kind) {
        case 0:
            limitSign(buffer, centre);
            break;
        case 1:
            warningSign(buffer, centre);
            break;
        case 2:
            buffer.polygon(disc(centre, 0.46f, 20), paint({0.08f, 0.2f, 0.55f}, kSign));
            buffer.polygon(panel(centre - cv::Vec3f(0, 0, 0.02f), 0.065f, 0.26f),
                           paint({0.9f, 0.9f, 0.9f}, kSign));
            break;
        case 3:
            buffer.polygon(panel(centre, 0.75f, 0.42f), paint({0.9f, 0.9f, 0.88f}, kSign));
            buffer.polygon(panel(centre - cv::Vec3f(0, 0, 0.02f), 0.69f, 0.36f),
                           paint({0.06f, 0.28f, 0.17f}, kSign));
            for (float y : {-0.16f, 0.1f}) {
                buffer.polygon(panel(centre + cv::Vec3f(-0.12f, y, -0.04f), 0.46f, 0.06f),
                               paint({0.88f, 0.88f, 0.86f}, kSign));
            }
            break;
        default:
            trafficLight(buffer, centre);
    }
}

void buildFence(Gbuffer& buffer, const Fence& fence) {
    const float thick = fence.style == 3 ? 0.35f : 0.05f;
    const cv::Vec3f low(std::min(fence.from[0], fence.to[0]) - thick, fence.from[1], fence.from[2]);
    const cv::Vec3f high(std::max(fence.from[0], fence.to[0]) + thick, fence.from[1] + fence.height,
                         fence.to[2]);
    std::vector<Plane> planes;
    for (int axis = 0; axis < 3; ++axis) {
        cv::Vec3f n(0, 0, 0);
        n[axis] = 1;
        planes.push_back({n, high[axis], 0});
        planes.push_back({-n, -low[axis], 0});
    }
    buffer.solid(planes, low, high, [&](int, const cv::Vec3f& point, float footprint) {
        Surface surface = paint(fence.colour, fence.style == 3 ? kTree : kFence);
        const float z = point[2], up = (point[1] - low[1]) / fence.height;
        const float detail = std::max(0.0f, std::min(1.0f, 0.1f / footprint - 0.6f));
        const float board = std::floor(z / 0.14f), inBoard = z / 0.14f - board;
        if (fence.style == 0) {
            const float tone = 0.85f + 0.3f * hashUnit(static_cast<int>(board), 0, 11);
            surface.colour *= 1 + detail * (tone - 1) - (inBoard < 0.1f ? 0.45f * detail : 0.0f);
        } else if (fence.style == 3) {
            surface.colour =
                cv::Vec3f(0.2f, 0.3f, 0.13f) * (0.45f + 1.1f * fractalNoise(z * 5, point[1] * 5, 3, 5));
        } else if (fence.style == 2 && up < 0.5f) {
            surface.colour =
                cv::Vec3f(0.5f, 0.33f, 0.26f) *
                (0.85f + 0.3f * hashUnit(static_cast<int>(z / 0.24f), static_cast<int>(point[1] / 0.08f), 3));
        } else {
            const bool bar = inBoard < 0.3f || up > 0.93f || (up > 0.08f && up < 0.14f);
            surface.colour = bar ? cv::Vec3f(0.10f, 0.12f, 0.12f) : cv::Vec3f(0.25f, 0.26f, 0.23f);
        }
        return surface;
    });
}

}  // namespace mpm::street
