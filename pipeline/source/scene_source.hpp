// The built-in street as a source.
#pragma once

#include <memory>

#include "pipeline/daynight/day_night.hpp"
#include "pipeline/source/source.hpp"

namespace mpm::street {
class Street;
}

namespace mpm::pipeline {

class SceneSource : public Source {
public:
    explicit SceneSource(const SceneOptions& options);
    ~SceneSource() override;

    void open() override;
    bool next(Frame& frame) override;
    bool live() const override { return false; }
    std::string name() const override { return "demo"; }
    std::int64_t length() const override { return m_options.frames; }
    double rate() const override;

private:
    SceneOptions m_options;
    std::unique_ptr<street::Street> m_street;
    std::int64_t m_number = 0;
};

/// Night in the street is from its sunset to its sunrise: its lamps are brighter than its dawn, so luminance
/// cannot tell. For times of sceneTime(); it holds nothing back, however far apart the frames are.
DayNightRule sceneRule();

/// The moment of the street's sky at `seconds` of its clock (Frame::seconds); every day of it is the same.
std::chrono::system_clock::time_point sceneTime(double seconds);

}  // namespace mpm::pipeline
