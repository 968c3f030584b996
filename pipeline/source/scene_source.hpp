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

/// Returns the rule that tells night from day in the street: night is from sunset to sunrise by sceneTime().
/// The rule does not use luminance, because the street's lamps at night are brighter than dawn.
DayNightRule sceneRule();

/// Converts Frame::seconds to the time of the street's clock. All days have the same date.
std::chrono::system_clock::time_point sceneTime(double seconds);

}  // namespace mpm::pipeline
