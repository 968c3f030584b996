#include "pipeline/chart/axis.hpp"

#include <algorithm>
#include <cmath>

#include "base/number.hpp"

namespace mpm::pipeline {

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

double Axis::step(int about) const {
    const double rough = (m_to - m_from) / about, power = std::pow(10, std::floor(std::log10(rough)));
    for (double factor : {1.0, 2.0, 5.0})
        if (factor * power >= rough * 0.999) return factor * power;
    return 10 * power;
}

std::vector<double> Axis::ticks(int about) const {
    const double each = step(about);
    std::vector<double> found;
    for (double i = std::ceil(m_from / each - 1e-9); i * each <= m_to + 1e-9 * each; ++i)
        found.push_back(i == 0 ? 0 : i * each);
    return found;
}

std::string Axis::text(double tick, int about) const {
    const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step(about)) + 1e-9)));
    return fixedText(tick, digits);
}

}  // namespace mpm::pipeline
