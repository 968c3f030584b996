// Axes of plots: the pixel of each value, and ticks (the numbers along an axis).
#pragma once

#include <string>
#include <vector>

namespace mpm::pipeline {

/// Returns the smallest step that divides `range` into at most `parts` steps and is 1, 2 or 5 times a power
/// of ten.
double roundStep(double range, int parts);

/// Returns the multiples of `step` from `from` to `to`.
std::vector<double> ticksBetween(double from, double to, double step);

/// Returns a tick as text, with as many decimals as the step needs.
std::string tickText(double tick, double step);

double hourStep(double range);       ///< distance between the ticks of an axis in hours
std::string hourText(double hours);  ///< time of day, such as "06:30"

/// An axis, which maps values to pixels.
class Axis {
public:
    /// If `to` does not exceed `from`, uses a range around `from`. `startPixel` may exceed `endPixel`, as on
    /// a vertical axis.
    Axis(double from, double to, double startPixel, double endPixel);

    double pixel(double value) const;
    double from() const { return m_from; }
    double to() const { return m_to; }
    std::vector<double> ticks(int about) const { return ticksBetween(m_from, m_to, step(about)); }
    std::string text(double tick, int about) const { return tickText(tick, step(about)); }

private:
    double step(int about) const { return roundStep(m_to - m_from, about); }
    double m_from, m_to, m_start, m_end;
};

}  // namespace mpm::pipeline
