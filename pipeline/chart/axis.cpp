#include "pipeline/chart/axis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/number.hpp"

namespace mpm::pipeline {

double roundStep(double range, int parts) {
    const double rough = range / parts, power = std::pow(10, std::floor(std::log10(rough)));
    for (double factor : {1.0, 2.0, 5.0})
        if (factor * power >= rough * 0.999) return factor * power;
    return 10 * power;
}

std::vector<double> ticksBetween(double from, double to, double step) {
    std::vector<double> found;
    for (double i = std::ceil(from / step - 1e-9); i * step <= to + 1e-9 * step; ++i)
        found.push_back(i == 0 ? 0 : i * step);
    return found;
}

std::string tickText(double tick, double step) {
    const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
    return fixedText(tick, digits);
}

double hourStep(double range) {
    for (double step : {0.25, 0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 24.0})
        if (range / step <= 13) return step;
    return roundStep(range, 10);
}

std::string hourText(double hours) {
    const long minutes = std::lround(hours * 60);
    const long ofDay = ((minutes % 1440) + 1440) % 1440;
    char text[32];
    std::snprintf(text, sizeof text, "%02ld:%02ld", ofDay / 60, ofDay % 60);
    return text;
}

Axis::Axis(double from, double to, double startPixel, double endPixel)
    : m_from(from), m_to(to), m_start(startPixel), m_end(endPixel) {
    if (!(m_to > m_from)) {
        const double half = std::max(0.5, 0.05 * std::abs(from));
        m_from = from - half, m_to = from + half;
    }
}

double Axis::pixel(double value) const {
    return m_start + (value - m_from) / (m_to - m_from) * (m_end - m_start);
}

}  // namespace mpm::pipeline
