// Axes of plots: positions of values, and the round numbers written along an axis.
#pragma once

#include <string>
#include <vector>

namespace mpm::pipeline {

/// Returns the least step (1, 2 or 5 times a power of ten) that divides `range` into about `parts` or fewer.
double roundStep(double range, int parts);

/// Multiples of `step` from `from` to `to`.
std::vector<double> ticksBetween(double from, double to, double step);

/// Writes a tick with as many digits as the step needs.
std::string tickText(double tick, double step);

/// Step for hours of the day, and text of a tick, such as "06:30".
double hourStep(double range);
std::string hourText(double hours);

/// An axis: maps values to pixels.
class Axis {
public:
    /// An empty range is widened around the value. startPixel may be past endPixel (a vertical axis).
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
