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

/// Night in the street is from sunset to sunrise: lamps are brighter than dawn, so luminance cannot decide.
/// Use this rule with sceneTime(). A change takes effect at once, for any time between frames.
DayNightRule sceneRule();

/// Returns the time in the street at `seconds` of the source's clock (Frame::seconds); every day is the same.
std::chrono::system_clock::time_point sceneTime(double seconds);

}  // namespace mpm::pipeline
