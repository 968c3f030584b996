#include "street/render/gbuffer.hpp"

#include "street/render/noise.hpp"

namespace mpm::street {
namespace {

enum Face { kFront, kGable, kRoof };

/// Returns how visible details of `size` metres are: 0 if they cover at most a pixel, 1 if at least two
/// pixels.
float visible(float size, float metresPerPixel) {
    return std::max(0.0f, std::min(1.0f, size / metresPerPixel - 1.0f));
}

cv::Vec3f brickwork(const House& house, float along, float up, float footprint) {
    const float row = std::floor(up / 0.085f);
    const float shifted = along / 0.24f + (static_cast<int>(row) & 1 ? 0.5f : 0.0f);
    const float tone = hashUnit(static_cast<int>(std::floor(shifted)), static_cast<int>(row), house.seed);
    const bool joint = up / 0.085f - row < 0.16f || shifted - std::floor(shifted) < 0.06f;
    const float detail = visible(0.085f, footprint);
    return house.wall * (1 + detail * (joint ? 0.22f : 0.24f * (tone - 0.5f)));
}

cv::Vec3f wallSurface(const House& house, float along, float up, float footprint) {
    cv::Vec3f colour = house.style == 1 ? brickwork(house, along, up, footprint) : house.wall;
    const float stains = fractalNoise(along * 0.35f, up * 0.16f, 3, house.seed);
    colour *= 0.86f + 0.28f * stains;
    if (house.style == 2 && std::fmod(up, house.floorHeight) < 0.06f)
        colour *= 1 - 0.25f * visible(0.06f, footprint);
    return colour * (0.82f + 0.18f * std::min(1.0f, up / 1.2f));  // walls are dirty near the ground
}

struct Cell {
    int bay = 0, floor = 0, bays = 1;
    float x = 0, y = 0;  ///< place within the cell, 0..1
    float width = 1, height = 1;
};

Cell cellAt(const House& house, float along, float up) {
    Cell cell;
    const float length = house.far - house.near;
    cell.bays = std::max(1, static_cast<int>((length - 0.6f) / house.bay));
    cell.width = (length - 0.6f) / static_cast<float>(cell.bays);
    cell.height = house.floorHeight;
    const float sx = (along - house.near - 0.3f) / cell.width, sy = up / cell.height;
    cell.bay = static_cast<int>(std::floor(sx));
    cell.floor = static_cast<int>(std::floor(sy));
    cell.x = sx - std::floor(sx);
    cell.y = sy - std::floor(sy);
    return cell;
}

Surface glass(const House& house, const Cell& cell) {
    Surface surface;
    const float lot = hashUnit(cell.bay, cell.floor, house.seed);
    const float shade = 0.10f + 0.10f * hashUnit(cell.bay, cell.floor, house.seed + 7) + 0.10f * cell.y;
    surface.colour = {shade * 0.9f, shade, shade * 1.12f};
    const bool curtain =
        hashUnit(cell.bay, cell.floor, house.seed + 3) < 0.35f && (cell.x < 0.36f || cell.x > 0.64f);
    if (curtain) surface.colour = cv::Vec3f(0.55f, 0.52f, 0.46f) * (0.7f + 0.3f * shade);
    surface.glow = static_cast<uchar>(kWindow + static_cast<int>(lot * (255 - kWindow)));
    return surface;
}

/// Sets the surface of a window's glass, frame, sill or surround. Returns false if the wall is visible
/// instead.
bool windowAt(const House& house, const Cell& cell, float footprint, Surface& surface) {
    const float dx = std::abs(cell.x - 0.5f) * cell.width, dy = (cell.y - 0.54f) * cell.height;
    const float halfWidth = 0.5f * house.windowWidth * cell.width,
                halfHeight = 0.5f * house.windowHeight * cell.height;
    if (dx > halfWidth + 0.12f || std::abs(dy) > halfHeight + 0.14f) return false;
    if (dx < halfWidth && std::abs(dy) < halfHeight) {
        const float bar = 0.055f;
        const bool frame = dx > halfWidth - bar || std::abs(dy) > halfHeight - bar ||
                           (house.style != 2 && dx < 0.5f * bar) ||
                           (house.style != 2 && std::abs(dy - 0.1f) < 0.5f * bar);
        surface = glass(house, cell);
        if (!frame) return true;
        const float share = visible(bar * 0.7f, footprint) * 0.8f + 0.2f;
        surface.colour = surface.colour * (1 - share) + house.trim * share;
        if (share > 0.5f) surface.glow = kDark;
        return true;
    }
    const bool sill = dy < -halfHeight;
    if (house.style == 2 && !sill) return false;
    surface.colour = house.trim * (sill ? 0.92f : 0.8f);
    return sill || house.style == 1;
}

bool doorAt(const House& house, const Cell& cell, Surface& surface) {
    const int place = static_cast<int>(hashUnit(1, 2, house.seed) * static_cast<float>(cell.bays));
    if (cell.floor != 0 || cell.bay != place) return false;
    const float dx = std::abs(cell.x - 0.5f) * cell.width, up = cell.y * cell.height;
    if (dx > 0.62f || up > 2.3f) return false;
    const bool surround = dx > 0.5f || up > 2.15f;
    surface.colour = surround ? house.trim : house.door * (up > 1.75f ? 0.5f : 1.0f);
    return true;
}

bool shopAt(const House& house, float along, float up, Surface& surface) {
    if (!house.shop || up > 3.0f) return false;
    const float inside = std::min(along - house.near, house.far - along);
    const cv::Vec3f board = house.door * 1.3f + cv::Vec3f::all(0.04f);
    if (up > 2.45f) {
        surface.colour = board;
        const float letters = hashUnit(static_cast<int>(std::floor(along / 0.16f)), 0, house.seed);
        if (inside > 1.2f && up > 2.6f && up < 2.86f && letters > 0.4f) surface.colour = {0.9f, 0.86f, 0.7f};
        return true;
    }
    const float pane = std::fmod(along - house.near, 1.7f);
    if (inside < 0.25f || up < 0.45f || pane < 0.1f) {
        surface.colour = board;
        return true;
    }
    const float wares = fractalNoise(along * 1.3f, up * 1.6f, 3, house.seed);
    surface.colour =
        cv::Vec3f(0.16f, 0.17f, 0.18f) + cv::Vec3f(0.35f, 0.28f, 0.2f) * std::max(0.0f, wares - 0.45f);
    surface.glow = kShopWindow;
    return true;
}

Surface frontAt(const House& house, float along, float up, float footprint) {
    Surface surface;
    surface.label = kBuilding;
    surface.colour = wallSurface(house, along, up, footprint);
    const float toEaves = house.eaves - up;
    if (toEaves < 0.28f) {
        surface.colour = house.trim * (toEaves < 0.2f ? 0.95f : 0.6f);
        return surface;
    }
    if (shopAt(house, along, up, surface)) return surface;
    const Cell cell = cellAt(house, along, up);
    if (cell.bay < 0 || cell.bay >= cell.bays) return surface;
    if (doorAt(house, cell, surface)) return surface;
    const bool room = static_cast<float>(cell.floor + 1) * cell.height <= house.eaves + 0.2f;
    Surface window = surface;
    if (room && windowAt(house, cell, footprint, window)) {
        window.label = kBuilding;
        return window;
    }
    return surface;
}

Surface roofAt(const House& house, float along, float up, float footprint) {
    Surface surface;
    surface.label = kBuilding;
    const float row = std::floor(up / 0.22f);
    const float tone =
        hashUnit(static_cast<int>(std::floor(along / 0.3f)), static_cast<int>(row), house.seed);
    const float edge = up / 0.22f - row < 0.2f ? -0.2f : 0.0f;
    surface.colour = house.roof * (0.9f + visible(0.2f, footprint) * (0.22f * (tone - 0.5f) + edge));
    surface.colour *= 0.85f + 0.3f * fractalNoise(along * 0.5f, up * 0.5f, 2, house.seed + 5);
    return surface;
}

/// Returns the planes of a house. If the house's `side` is 0, the long axis of the house is across the
/// street, else along the street.
std::vector<Plane> planesOf(const House& house) {
    const float sign = house.side == 0 ? 1.0f : house.side;
    const auto across = [&](float v, float up) {
        return house.side == 0 ? cv::Vec3f(0, up, v) : cv::Vec3f(v * sign, up, 0);
    };
    const auto along = [&](float v) { return house.side == 0 ? cv::Vec3f(v, 0, 0) : cv::Vec3f(0, 0, v); };
    const float middle = (house.front + house.back) / 2, rise = house.ridge - house.eaves,
                run = middle - house.front;
    const float slope = std::sqrt(rise * rise + run * run), ny = run / slope, nx = rise / slope;
    std::vector<Plane> planes;
    planes.push_back({across(-1, 0), -house.front, kFront});
    planes.push_back({across(1, 0), house.back, kGable});
    planes.push_back({along(-1), -house.near, kGable});
    planes.push_back({along(1), house.far, kGable});
    planes.push_back({across(-nx, ny), -nx * house.front + ny * house.eaves, kRoof});
    planes.push_back({across(nx, ny), nx * house.back + ny * house.eaves, kRoof});
    return planes;
}

}  // namespace

void houseBox(const House& house, cv::Vec3f& low, cv::Vec3f& high) {
    if (house.side == 0) {
        low = {house.near, 0, house.front};
        high = {house.far, house.ridge, house.back};
    } else {
        low = {house.side > 0 ? house.front : -house.back, 0, house.near};
        high = {house.side > 0 ? house.back : -house.front, house.ridge, house.far};
    }
}

void buildHouse(Gbuffer& buffer, const House& house) {
    cv::Vec3f low, high;
    houseBox(house, low, high);
    const bool across = house.side == 0;
    buffer.solid(planesOf(house), low, high, [&](int face, const cv::Vec3f& point, float footprint) {
        const float along = across ? point[0] : point[2];
        if (face == kFront) return frontAt(house, along, point[1], footprint);
        if (face == kRoof) return roofAt(house, along, point[1], footprint);
        Surface gable;
        gable.label = kBuilding;
        gable.colour = wallSurface(house, across ? point[2] : point[0], point[1], footprint) * 0.96f;
        return gable;
    });
}

}  // namespace mpm::street
