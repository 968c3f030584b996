// Axes of plots: the pixel of each value, and ticks (the numbers along an axis).
#pragma once

#include <string>
#include <vector>

namespace mpm::pipeline {

/// Returns 1, 2 or 5 times a power of ten: the smallest of these numbers that divides `range` into at most
/// `parts` steps.
double roundStep(double range, int parts);

/// Returns the multiples of `step` from `from` to `to`.
std::vector<double> ticksBetween(double from, double to, double step);

/// Returns a tick as text, with as many decimals as the step needs.
std::string tickText(double tick, double step);

/// hourStep() returns the step of an axis in hours; hourText() returns a tick as a time of day ("06:30").
double hourStep(double range);
std::string hourText(double hours);

/// An axis, which maps values to pixels.
class Axis {
public:
    /// If `from` equals `to`, widens the range around this value. On a vertical axis, startPixel may exceed
    /// endPixel.
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
