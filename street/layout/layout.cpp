#include "street/layout/layout.hpp"

#include <algorithm>

#include "base/random.hpp"

namespace mpm::street {
namespace {

float pick(Random& random, double low, double high) {
    return static_cast<float>(random.uniform(low, high));
}

cv::Vec3f wallColour(Random& random, int style) {
    static const cv::Vec3f brick[] = {
        {0.50f, 0.27f, 0.20f}, {0.58f, 0.36f, 0.26f}, {0.66f, 0.55f, 0.38f}, {0.42f, 0.25f, 0.21f}};
    static const cv::Vec3f plaster[] = {{0.80f, 0.76f, 0.66f}, {0.83f, 0.72f, 0.56f}, {0.68f, 0.70f, 0.70f},
                                        {0.76f, 0.60f, 0.50f}, {0.70f, 0.72f, 0.62f}, {0.86f, 0.84f, 0.80f}};
    static const cv::Vec3f concrete[] = {{0.55f, 0.55f, 0.53f}, {0.47f, 0.48f, 0.50f}, {0.62f, 0.59f, 0.54f}};
    cv::Vec3f colour = style == 1   ? brick[random.below(4)]
                       : style == 0 ? plaster[random.below(6)]
                                    : concrete[random.below(3)];
    return colour * pick(random, 0.85, 1.1);
}

void decorate(House& house, Random& random) {
    static const cv::Vec3f doors[] = {
        {0.15f, 0.25f, 0.20f}, {0.45f, 0.08f, 0.08f}, {0.10f, 0.14f, 0.32f}, {0.20f, 0.14f, 0.09f}};
    const double lot = random.uniform();
    house.style = lot < 0.4 ? 0 : lot < 0.82 ? 1 : 2;
    house.wall = wallColour(random, house.style);
    house.trim = cv::Vec3f(0.86f, 0.84f, 0.78f) * pick(random, 0.75, 1.05);
    house.roof = random.chance(0.5) ? cv::Vec3f(0.24f, 0.25f, 0.28f)
                                    : cv::Vec3f(0.46f, 0.24f, 0.17f) * pick(random, 0.8, 1.1);
    house.door = doors[random.below(4)];
    house.floorHeight = pick(random, 2.8, 3.4);
    house.bay = pick(random, 1.9, 3.0);
    house.windowWidth = house.style == 2 ? pick(random, 0.7, 0.85) : pick(random, 0.4, 0.55);
    house.windowHeight = house.style == 2 ? pick(random, 0.55, 0.68) : pick(random, 0.48, 0.6);
    const int floors = 2 + random.below(house.style == 2 ? 5 : 3);
    house.eaves = house.floorHeight * floors + pick(random, 0.4, 0.9);
    house.ridge = house.style == 2 ? house.eaves + 0.05f : house.eaves + pick(random, 1.8, 3.4);
    house.shop = random.chance(0.3);
    house.seed = static_cast<uint32_t>(random.next());
}

void fillGap(Layout& layout, float side, float front, float near, float far, Random& random) {
    Fence fence;
    fence.from = {side * front, layout.kerb, near};
    fence.to = {side * front, layout.kerb, far};
    fence.style = random.below(4);
    fence.height = pick(random, 1.0, 1.9);
    fence.colour = cv::Vec3f(0.42f, 0.32f, 0.22f) * pick(random, 0.7, 1.3);
    layout.fences.push_back(fence);
    Tree tree;
    tree.foot = {side * (front + pick(random, 2.2, 4.5)), 0, (near + far) / 2};
    tree.height = pick(random, 6.5, 11);
    tree.crown = pick(random, 2.4, 3.6);
    layout.trees.push_back(tree);
}

void placeHouses(Layout& layout, float side, Random& random) {
    const float line = layout.roadHalf + layout.pavement;
    float z = pick(random, -12, -4);
    while (z < layout.end) {
        if (z > 0 && random.chance(0.22)) {
            const float gap = pick(random, 5, 10);
            fillGap(layout, side, line, z, z + gap, random);
            z += gap;
        }
        House house;
        house.side = side;
        const bool garden = random.chance(0.35);
        house.front = line + (garden ? pick(random, 1.5, 3) : 0.02f);
        house.back = house.front + pick(random, 8, 11);
        house.near = z;
        house.far = z + pick(random, 7, 15);
        decorate(house, random);
        if (garden) {
            house.shop = false;
            Fence fence;
            fence.from = {side * line, layout.kerb, house.near};
            fence.to = {side * line, layout.kerb, house.far};
            fence.style = random.below(4);
            fence.height = pick(random, 0.8, 1.3);
            fence.colour = cv::Vec3f(0.5f, 0.45f, 0.38f) * pick(random, 0.5, 1.4);
            layout.fences.push_back(fence);
        }
        layout.houses.push_back(house);
        z = house.far;
    }
}

void closeEnd(Layout& layout, Random& random) {
    float x = -34;
    while (x < 34) {
        House house;
        house.side = 0;
        house.front = layout.end + pick(random, 2, 5);
        house.back = house.front + 9;
        house.near = x;
        house.far = x + pick(random, 8, 14);
        decorate(house, random);
        layout.houses.push_back(house);
        x = house.far;
    }
}

void plantTrees(Layout& layout, Random& random) {
    for (float side : {-1.0f, 1.0f}) {
        if (random.chance(0.25)) continue;
        const float step = pick(random, 11, 22);
        for (float z = pick(random, 7, 15); z < layout.end - 8; z += step * pick(random, 0.8, 1.2)) {
            Tree tree;
            tree.foot = {side * (layout.roadHalf + pick(random, 0.7, 1.0)), layout.kerb, z};
            tree.height = pick(random, 5.2, 8.5);
            tree.crown = pick(random, 1.5, 2.5);
            layout.trees.push_back(tree);
        }
    }
    for (auto& tree : layout.trees) {
        static const cv::Vec3f leaves[] = {
            {0.23f, 0.34f, 0.12f}, {0.30f, 0.38f, 0.14f}, {0.19f, 0.29f, 0.13f}, {0.42f, 0.37f, 0.13f}};
        tree.leaf = leaves[random.chance(0.12) ? 3 : random.below(3)];
        tree.seed = static_cast<uint32_t>(random.next());
    }
}

void placeLamps(Layout& layout, Random& random) {
    const float step = pick(random, 16, 24);
    int count = 0;
    for (float z = pick(random, 6, 12); z < 60; z += step) {
        const float side = ++count % 2 ? 1.0f : -1.0f;
        layout.lamps.push_back(
            {{side * (layout.roadHalf + 0.45f), layout.kerb, z}, pick(random, 5.6, 6.4), -side * 1.5f});
    }
}

void placeSigns(Layout& layout, Random& random) {
    const int count = 5 + random.below(4);
    for (int i = 0; i < count; ++i) {
        const float side = random.chance(0.5) ? 1.0f : -1.0f;
        SignPost sign;
        sign.foot = {side * (layout.roadHalf + pick(random, 0.35, 0.7)), layout.kerb,
                     i == 0 ? pick(random, 7, 12) : pick(random, 7, 32)};
        sign.height = pick(random, 2.3, 3.0);
        sign.kind = random.below(4);
        layout.signs.push_back(sign);
    }
    if (!layout.crossing) return;
    for (float side : {-1.0f, 1.0f}) {
        layout.signs.push_back(
            {{side * (layout.roadHalf + 0.4f), layout.kerb, layout.crossingZ + 2.2f}, 3.2f, 4});
    }
}

cv::Vec3f paintColour(Random& random) {
    static const cv::Vec3f paints[] = {{0.75f, 0.76f, 0.78f}, {0.10f, 0.10f, 0.11f}, {0.82f, 0.82f, 0.80f},
                                       {0.42f, 0.06f, 0.06f}, {0.09f, 0.16f, 0.36f}, {0.32f, 0.33f, 0.35f},
                                       {0.10f, 0.24f, 0.16f}, {0.58f, 0.52f, 0.40f}};
    return paints[random.below(8)] * pick(random, 0.9, 1.1);
}

void parkCars(Layout& layout, Random& random) {
    for (float side : {-1.0f, 1.0f}) {
        if (random.chance(0.2)) continue;
        const double density = random.uniform(0.3, 0.85);
        for (float z = pick(random, 6, 11); z < layout.end - 10; z += pick(random, 5.4, 6.4)) {
            if (!random.chance(density)) continue;
            if (layout.crossing && std::abs(z - layout.crossingZ) < 5) continue;
            layout.parked.push_back(
                {side * (layout.roadHalf - 1.05f), z, -side, random.below(4), paintColour(random)});
        }
    }
}

}  // namespace

Layout makeLayout(cv::Size size, uint64_t seed) {
    Random random(seed);
    Layout layout;
    layout.seed = seed;
    layout.roadHalf = pick(random, 4.2, 5.6);
    layout.pavement = pick(random, 2.2, 3.6);
    layout.centreLine = random.chance(0.8);
    layout.crossing = random.chance(0.45);
    layout.crossingZ = pick(random, 13, 24);
    layout.sunTurn = pick(random, -3.1416, 3.1416);
    layout.clouds = pick(random, 0.1, 0.85);
    layout.warmth = pick(random, -0.4, 1.0);
    layout.end = pick(random, 70, 110);
    auto& camera = layout.camera;
    camera.focal = size.width * pick(random, 0.82, 1.05);
    camera.centre = {size.width * 0.5f, size.height * pick(random, 0.44, 0.52)};
    camera.position = {pick(random, -0.55, 0.55) * layout.roadHalf, pick(random, 1.5, 3.2), 0};
    camera.yaw = pick(random, -0.09, 0.09) - 0.03f * camera.position[0];
    camera.pitch = pick(random, -0.02, 0.06);
    for (float side : {-1.0f, 1.0f})
        placeHouses(layout, side, random);
    closeEnd(layout, random);
    plantTrees(layout, random);
    placeLamps(layout, random);
    placeSigns(layout, random);
    parkCars(layout, random);
    return layout;
}

}  // namespace mpm::street
