// The objects of a street, chosen at random from a seed before rendering.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

#include "street/layout/camera.hpp"

namespace mpm::street {

/// Ids of the classes, in the order of the data set CamVid.
enum StreetClass : uchar {
    kSky,
    kBuilding,
    kPole,
    kRoad,
    kPavement,
    kTree,
    kSign,
    kFence,
    kCar,
    kPedestrian,
    kBicyclist,
    kClasses
};

struct House {
    float side = 1;              ///< -1: left of the road, 1: right of the road, 0: across the street's end
    float front = 8, back = 18;  ///< |x| of the two long faces (z if side is 0)
    float near = 10, far = 20;   ///< z of the two ends (x if side is 0)
    float eaves = 8, ridge = 11;
    cv::Vec3f wall, trim, roof, door;  ///< colours, RGB 0..1
    float floorHeight = 3, bay = 2.4f, windowWidth = 0.5f, windowHeight = 0.55f;
    int style = 0;  ///< 0 plaster, 1 brick, 2 concrete and glass
    bool shop = false;
    uint32_t seed = 0;
};

struct Tree {
    cv::Vec3f foot;
    float height = 7, crown = 2.4f;
    cv::Vec3f leaf;
    uint32_t seed = 0;
};

struct Lamp {
    cv::Vec3f foot;
    float height = 6;
    float reach = 1.4f;  ///< signed length of the arm along x
};

struct SignPost {
    cv::Vec3f foot;
    float height = 2.6f;
    int kind = 0;  ///< 0 speed limit, 1 triangle, 2 blue disc, 3 board, 4 traffic light
};

struct Fence {
    cv::Vec3f from, to;  ///< ends of the lower edge
    float height = 1.1f;
    int style = 0;  ///< 0 boards, 1 railing, 2 brick wall with railing, 3 hedge (labelled as a tree)
    cv::Vec3f colour;
};

struct ParkedCar {
    float x = 0, z = 0, heading = 1;
    int model = 0;
    cv::Vec3f paint;
};

struct Layout {
    uint64_t seed = 0;
    Camera camera;
    float roadHalf = 4, pavement = 3, kerb = 0.12f, end = 95;  ///< end: z of the houses at the street's end
    bool centreLine = true, crossing = false;
    float crossingZ = 16;
    float sunTurn = 0;  ///< angle between the street and north, radians
    float clouds = 0.4f;
    float warmth = 0;  ///< colour of the lamps, from -1 (white) to 1 (sodium)
    std::vector<House> houses;
    std::vector<Tree> trees;
    std::vector<Lamp> lamps;
    std::vector<SignPost> signs;
    std::vector<Fence> fences;
    std::vector<ParkedCar> parked;
};

Layout makeLayout(cv::Size size, uint64_t seed);

}  // namespace mpm::street
