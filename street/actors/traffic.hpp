// The moving actors and their positions at any second.
#pragma once

#include <vector>

#include "street/actors/actor.hpp"

namespace mpm::street {

class Traffic {
public:
    explicit Traffic(const Layout& layout);

    /// Returns all visible actors, from far to near.
    std::vector<Actor> at(double seconds) const;

private:
    struct Driver {
        ParkedCar car;
        float speed, offset;
    };
    struct Walker {
        cv::Vec3f foot;
        float speed, offset;
        bool cycles, crosses;
        uint64_t look;
    };

    void addCars(double seconds, std::vector<Actor>& actors) const;
    void addWalkers(double seconds, std::vector<Actor>& actors) const;
    /// Returns the id of an actor in `round`, a number from roundOf(). Parked cars have lower ids: 1, 2, ...
    std::int64_t idOf(size_t actor, std::int64_t round) const;

    Layout m_layout;
    std::vector<Driver> m_drivers;
    std::vector<Walker> m_walkers;
};

}  // namespace mpm::street
