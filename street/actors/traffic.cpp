#include "street/actors/traffic.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace mpm::street {
namespace {

float wrap(double value, double length) {
    return static_cast<float>(value - std::floor(value / length) * length);
}

/// Returns the number of an actor's round through the street. In each round, the actor has a new id. The
/// rounds 0, -1, 1, -2 ... get the numbers 0, 1, 2, 3 ...
std::int64_t roundOf(double value, double length) {
    constexpr double kMost = 1e12;
    const double round = std::max(-kMost, std::min(std::floor(value / length), kMost));
    const auto number = static_cast<std::int64_t>(round);
    return number >= 0 ? 2 * number : -2 * number - 1;
}

cv::Vec3f anyPaint(Random& random) {
    static const cv::Vec3f paints[] = {{0.78f, 0.78f, 0.8f}, {0.12f, 0.12f, 0.13f}, {0.52f, 0.07f, 0.06f},
                                       {0.11f, 0.2f, 0.45f}, {0.85f, 0.84f, 0.8f},  {0.4f, 0.41f, 0.43f}};
    return paints[random.below(6)];
}

}  // namespace

Traffic::Traffic(const Layout& layout) : m_layout(layout) {
    Random random(mixSeed(layout.seed, 77));
    const float lane = (layout.roadHalf - 2.0f) * 0.5f + 0.05f;
    for (float side : {-1.0f, 1.0f}) {
        const auto speed = static_cast<float>(random.uniform(6, 11));
        float offset = static_cast<float>(random.uniform(0, 60));
        for (int i = 0, count = random.below(4); i < count; ++i) {
            m_drivers.push_back({{side * lane, 0, -side, random.below(4), anyPaint(random)}, speed, offset});
            offset += static_cast<float>(random.uniform(14, 38));
        }
    }
    for (int i = 0, count = 5 + random.below(7); i < count; ++i) {
        const float side = random.chance(0.5) ? 1.0f : -1.0f, way = random.chance(0.5) ? 1.0f : -1.0f;
        const auto inset = static_cast<float>(random.uniform(0.8, layout.pavement - 0.35));
        m_walkers.push_back({{side * (layout.roadHalf + inset), layout.kerb, 0},
                             way * static_cast<float>(random.uniform(0.9, 1.6)),
                             static_cast<float>(random.uniform(0, 60)),
                             false,
                             layout.crossing && i < 2,
                             random.next()});
    }
    for (int i = 0, count = 2 + random.below(3); i < count; ++i) {
        const float side = random.chance(0.5) ? 1.0f : -1.0f;
        m_walkers.push_back({{side * (layout.roadHalf - 2.45f), 0, 0},
                             -side * static_cast<float>(random.uniform(3.2, 5.5)),
                             static_cast<float>(random.uniform(0, 60)),
                             true,
                             false,
                             random.next()});
    }
}

void Traffic::addCars(double seconds, std::vector<Actor>& actors) const {
    const double length = m_layout.end + 40;
    for (size_t i = 0; i < m_drivers.size(); ++i) {
        const Driver& driver = m_drivers[i];
        ParkedCar car = driver.car;
        const double way = driver.offset + car.heading * driver.speed * seconds;
        car.z = wrap(way, length) - 20;
        if (car.z <= 3.5f) continue;
        actors.push_back(makeCar(car, true, m_layout.camera.position));
        actors.back().id = idOf(i, roundOf(way, length));
    }
}

void Traffic::addWalkers(double seconds, std::vector<Actor>& actors) const {
    const cv::Vec3f eye = m_layout.camera.position;
    for (size_t i = 0; i < m_walkers.size(); ++i) {
        const Walker& walker = m_walkers[i];
        cv::Vec3f foot = walker.foot;
        const float stride = static_cast<float>(std::fmod(
                                 seconds * std::abs(walker.speed) * (walker.cycles ? 1.3 : 4.2), 6283.0)) +
                             walker.offset;
        const double way = walker.offset + walker.speed * seconds;
        const float reach = m_layout.roadHalf + m_layout.pavement;
        double length = walker.cycles ? 52 : 44;
        cv::Vec3f forward(0, 0, walker.speed > 0 ? 1.0f : -1.0f);
        if (walker.crosses) {
            length = 2.6 * reach;
            foot[0] = wrap(way, length) - 1.3f * reach;
            foot[2] = m_layout.crossingZ + 0.9f * std::sin(walker.offset);
            foot[1] = std::abs(foot[0]) > m_layout.roadHalf ? m_layout.kerb : 0;
            forward = {walker.speed > 0 ? 1.0f : -1.0f, 0, 0};
            if (std::abs(foot[0]) > reach) continue;
        } else {
            foot[2] = wrap(way, length) - 4;
        }
        if (foot[2] < 3) continue;
        actors.push_back(walker.cycles ? makeBicyclist(foot, forward, stride, walker.look, eye)
                                       : makePedestrian(foot, forward, stride, walker.look, eye));
        actors.back().id = idOf(m_drivers.size() + i, roundOf(way, length));
    }
}

std::int64_t Traffic::idOf(size_t actor, std::int64_t round) const {
    const auto count = static_cast<std::int64_t>(m_drivers.size() + m_walkers.size());
    const auto parked = static_cast<std::int64_t>(m_layout.parked.size());
    return 1 + parked + static_cast<std::int64_t>(actor) + count * round;
}

std::vector<Actor> Traffic::at(double seconds) const {
    std::vector<Actor> actors;
    addCars(seconds, actors);
    addWalkers(seconds, actors);
    std::stable_sort(actors.begin(), actors.end(),
                     [](const Actor& a, const Actor& b) { return a.centre[2] > b.centre[2]; });
    return actors;
}

}  // namespace mpm::street
