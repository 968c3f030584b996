// The moving actors and their positions at a given second.
#pragma once

#include <vector>

#include "street/actors/actor.hpp"

namespace mpm::street {

class Traffic {
public:
    explicit Traffic(const Layout& layout);

    /// All visible actors, far to near.
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

    Layout m_layout;
    std::vector<Driver> m_drivers;
    std::vector<Walker> m_walkers;
};

}  // namespace mpm::street
