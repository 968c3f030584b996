// The lit street at an hour of the day, and functions that paint actors into the street.
#pragma once

#include <array>
#include <vector>

#include <opencv2/core.hpp>

#include "street/actors/actor.hpp"
#include "street/layout/camera.hpp"
#include "street/layout/layout.hpp"
#include "street/render/gbuffer.hpp"

namespace mpm::street {

float linearOf(uchar value);

struct Light {
    double hour = 12;
    cv::Vec3f toSun;             ///< unit vector; towards the moon at night
    cv::Vec3f sun;               ///< linear RGB of the light that throws shadows
    cv::Vec3f skyAbove, skyLow;  ///< linear RGB of zenith and horizon
    cv::Vec3f ambientUp, ambientSide, ambientDown;
    cv::Vec3f lamp;  ///< linear RGB of the light of street lamps; 0 by day
    float dark = 0;  ///< 0 by day, 1 at night
    float exposure = 1;

    Light(const Layout& layout, double hour);

    /// Returns the ambient light on a surface, without shadows.
    cv::Vec3f ambient(const cv::Vec3f& normal) const;

    cv::Vec3b toPixel(const cv::Vec3f& linear) const;

    /// Returns the light that a surface sends out or mirrors. `kind`: see Glow.
    cv::Vec3f glow(uchar kind) const;
};

/// The houses and trees that throw shadows.
class Occluders {
public:
    explicit Occluders(const Layout& layout);
    /// Returns 1 in full sun, 0 in the shadow of a house, and a value in between in the shadow of a tree.
    float sunAt(const cv::Vec3f& point, const cv::Vec3f& toSun) const;

private:
    struct Box {
        cv::Vec3f low, high;
    };
    struct Ball {
        cv::Vec3f centre;
        float radius;
    };
    std::vector<Box> m_boxes;
    std::vector<Ball> m_balls;
};

/// Returns the light of all lamps on a surface, from 0 to about 1.5.
float lampLight(const Layout& layout, const cv::Vec3f& point, const cv::Vec3f& normal);

class Sky {
public:
    Sky(const Layout& layout, const Camera& camera, cv::Size size);

    cv::Vec3f at(int x, int y, const Light& light) const;

private:
    Camera m_camera;
    uint32_t m_seed;
    cv::Mat m_clouds;  ///< CV_32F, cover 0..1
};

/// The street without moving actors. Fine maps have `samples` x `samples` pixels for each pixel of a frame.
struct Backdrop {
    cv::Mat image;   ///< CV_8UC3 BGR, size of a frame
    cv::Mat labels;  ///< CV_8U, size of a frame
    cv::Mat sun;     ///< CV_8U, size of a frame: share of direct sun, 0..255
    cv::Mat depth;   ///< CV_32F, fine
    int samples = 1;
};

struct Stage {
    const Layout& layout;
    const Light& light;
    const Occluders& occluders;
    Camera camera;  ///< camera of the fine maps
};

/// Returns the lamp light on each fine pixel, interpolated from every `step`-th pixel across and down.
cv::Mat lampMap(const Layout& layout, const Gbuffer& buffer, int step);

/// Lights all static objects and adds parked cars.
Backdrop lightStreet(const Stage& stage, const Gbuffer& buffer, const Sky& sky, const cv::Mat& lamps,
                     int samples, const std::vector<Actor>& parked);

/// Paints the shadows of actors, and the light of cars' lamps on the road. Must be called before actors are
/// painted.
void paintGroundEffects(const Stage& stage, const Backdrop& backdrop, const std::vector<Actor>& actors,
                        cv::Mat& image);

/// Paints the glare of lamps. Must be called last, because glare covers actors.
void paintGlare(const Stage& stage, const Backdrop& backdrop, const std::vector<Actor>& actors,
                cv::Mat& image);

struct Sprite {
    cv::Rect area;   ///< on the fine maps; empty if the actor is out of sight
    cv::Mat colour;  ///< CV_8UC3 BGR
    cv::Mat depth;   ///< CV_32F, infinite outside the actor
};

/// Renders a lit actor without the street, in fine pixels. The upper left corner of the area is a multiple of
/// `align`.
Sprite renderSprite(const Stage& stage, const Actor& actor, cv::Size fineSize, int align);

/// Paints an actor over `image` and `labels`, which began as copies of the backdrop's.
void paintActor(const Sprite& sprite, const Backdrop& backdrop, uchar label, cv::Mat& image, cv::Mat& labels);

/// Paints a parked car, which never moves, into the fine maps of the backdrop.
void paintFine(const Stage& stage, const Actor& actor, cv::Mat& fine, cv::Mat& labels, cv::Mat& depth);

}  // namespace mpm::street
