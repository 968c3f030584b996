// One axis of a plot: from values to pixels, and the round numbers written along it.
#pragma once

#include <string>
#include <vector>

namespace mpm::pipeline {

class Axis {
public:
    /// from..to in values, widened a little; startPixel may be past endPixel (a vertical axis).
    Axis(double from, double to, double startPixel, double endPixel);

    double pixel(double value) const;
    double from() const { return m_from; }
    double to() const { return m_to; }
    std::vector<double> ticks(int about) const;  ///< round numbers inside, about so many
    std::string text(double tick, int about) const;

private:
    double step(int about) const;
    double m_from, m_to, m_start, m_end;
};

}  // namespace mpm::pipeline
