#include "street/street.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "street/actors/traffic.hpp"
#include "street/render/canvas.hpp"
#include "street/render/gbuffer.hpp"

namespace mpm::street {
namespace {

constexpr double kStepsAnHour = 30;

void build(Gbuffer& buffer, const Layout& layout) {
    layGround(buffer, layout);
    for (const auto& house : layout.houses)
        buildHouse(buffer, house);
    for (const auto& fence : layout.fences)
        buildFence(buffer, fence);
    for (const auto& tree : layout.trees)
        growTree(buffer, tree);
    for (const auto& lamp : layout.lamps)
        raiseLamp(buffer, lamp);
    for (const auto& sign : layout.signs)
        raiseSign(buffer, sign);
}

std::vector<Actor> parkedCars(const Layout& layout) {
    std::vector<Actor> cars;
    for (auto car = layout.parked.rbegin(); car != layout.parked.rend(); ++car) {
        cars.push_back(makeCar(*car, false, layout.camera.position));
        cars.back().id = static_cast<std::int64_t>(cars.size());
    }
    return cars;
}

}  // namespace

/// The object that each pixel of a frame shows, and the box of each object.
class Owners {
public:
    explicit Owners(cv::Size frame) : m_owner(frame, CV_32S, cv::Scalar(-1)) {}

    /// Adds an actor. The caller must add actors from far to near. As in the labels, a pixel belongs to an
    /// actor if at least half of the pixel shows the actor. `inBackdrop`: whether the backdrop's depth
    /// includes the actor.
    void add(const Sprite& sprite, const Backdrop& backdrop, const Actor& actor, bool inBackdrop) {
        const int n = backdrop.samples, index = static_cast<int>(m_objects.size());
        StreetObject object{actor.id, actor.label, {}, 0};
        int pixels = 0;
        for (int y = 0; y < sprite.area.height / n; ++y) {
            for (int x = 0; x < sprite.area.width / n; ++x) {
                int covered = 0, visible = 0;
                for (int i = 0; i < n * n; ++i) {
                    const int sy = y * n + i / n, sx = x * n + i % n;
                    const float z = sprite.depth.at<float>(sy, sx);
                    if (std::isinf(z)) continue;
                    ++covered;
                    const float behind = backdrop.depth.at<float>(sy + sprite.area.y, sx + sprite.area.x);
                    if (z < behind || (inBackdrop && z == behind)) ++visible;
                }
                if (2 * covered < n * n) continue;
                const cv::Point at(x + sprite.area.x / n, y + sprite.area.y / n);
                ++pixels;
                object.box |= cv::Rect(at, cv::Size(1, 1));
                if (2 * visible >= n * n) m_owner.at<int>(at) = index;
            }
        }
        if (pixels == 0) return;
        m_objects.push_back(object);
        m_pixels.push_back(pixels);
    }

    std::vector<StreetObject> objects() const {
        std::vector<int> visible(m_objects.size());
        for (int y = 0; y < m_owner.rows; ++y)
            for (int x = 0; x < m_owner.cols; ++x)
                if (const int owner = m_owner.at<int>(y, x); owner >= 0)
                    ++visible[static_cast<size_t>(owner)];
        std::vector<StreetObject> objects = m_objects;
        for (size_t i = 0; i < objects.size(); ++i)
            objects[i].visible = static_cast<double>(visible[i]) / m_pixels[i];
        std::sort(objects.begin(), objects.end(),
                  [](const StreetObject& a, const StreetObject& b) { return a.id < b.id; });
        return objects;
    }

    Owners copy() const {
        Owners other = *this;
        other.m_owner = m_owner.clone();
        return other;
    }

private:
    cv::Mat m_owner;  ///< CV_32S: an index of m_objects, -1 for the backdrop
    std::vector<StreetObject> m_objects;
    std::vector<int> m_pixels;  ///< pixels of each object, including hidden pixels
};

struct Street::State {
    State(cv::Size frame, uint64_t seed, int samplesASide)
        : size(frame),
          samples(samplesASide),
          layout(makeLayout(frame, seed)),
          buffer(layout.camera.scaled(static_cast<float>(samplesASide)), frame * samplesASide),
          sky(layout, layout.camera, frame),
          occluders(layout),
          traffic(layout),
          parked(parkedCars(layout)),
          standing(frame) {
        build(buffer, layout);
        lamps = lampMap(layout, buffer, samples);
    }

    void relight(double hour) {
        const auto step = static_cast<int64_t>(std::floor(hour * kStepsAnHour + 0.5));
        if (step == litStep) return;
        now.emplace(layout, static_cast<double>(step) / kStepsAnHour);
        const Stage stage{layout, *now, occluders, buffer.camera()};
        backdrop = lightStreet(stage, buffer, sky, lamps, samples, parked);
        paintGroundEffects(stage, backdrop, parked, backdrop.image);
        if (litStep < 0) {  // only the first time, because parked cars do not move
            for (const auto& car : parked)
                standing.add(renderSprite(stage, car, buffer.size(), samples), backdrop, car, true);
        }
        litStep = step;
    }

    cv::Size size;
    int samples;
    Layout layout;
    Gbuffer buffer;
    Sky sky;
    Occluders occluders;
    Traffic traffic;
    std::vector<Actor> parked;
    cv::Mat lamps;
    std::optional<Light> now;
    Backdrop backdrop;
    Owners standing;
    int64_t litStep = -1;
};

Street::Street(cv::Size size, uint64_t seed, int samples) {
    if (size.width < 16 || size.height < 16)
        CV_Error(cv::Error::StsBadSize, "Street: size must be at least 16x16");
    CV_CheckGE(samples, 1, "Street: samples must be 1 to 4");
    CV_CheckLE(samples, 4, "Street: samples must be 1 to 4");
    m_state = std::make_unique<State>(size, seed, samples);
}

Street::~Street() = default;
Street::Street(Street&&) noexcept = default;
Street& Street::operator=(Street&&) noexcept = default;

cv::Size Street::size() const {
    return m_state->size;
}

StreetFrame Street::at(double hour, double seconds) {
    if (!std::isfinite(hour) || !std::isfinite(seconds))
        CV_Error(cv::Error::StsBadArg, "Street: hour and seconds must be finite");
    State& state = *m_state;
    const double ofDay = hour - 24 * std::floor(hour / 24);
    state.relight(ofDay);
    const Stage stage{state.layout, *state.now, state.occluders, state.buffer.camera()};
    StreetFrame frame{state.backdrop.image.clone(), state.backdrop.labels.clone(), ofDay, {}};
    const auto actors = state.traffic.at(seconds);
    paintGroundEffects(stage, state.backdrop, actors, frame.image);
    Owners owners = state.standing.copy();
    for (const auto& actor : actors) {
        const Sprite sprite = renderSprite(stage, actor, state.backdrop.depth.size(), state.backdrop.samples);
        paintActor(sprite, state.backdrop, actor.label, frame.image, frame.labels);
        owners.add(sprite, state.backdrop, actor, false);
    }
    frame.objects = owners.objects();
    paintGlare(stage, state.backdrop, actors, frame.image);
    return frame;
}

}  // namespace mpm::street
