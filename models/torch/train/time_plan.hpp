// The time limit of a run includes the last validation.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>

namespace mpm::models {

class TimePlan {
public:
    /// `seconds`: of the whole run; 0: without limit.
    explicit TimePlan(double seconds) : m_seconds(seconds) {}

    bool limited() const { return m_seconds > 0; }
    /// Before a validation was measured: the expected time of a forward of its images.
    void expectValidation(double seconds) {
        if (!m_measured) m_validation = seconds;
    }
    void validated(double seconds) {
        m_measured = true;
        m_validation = seconds;
    }
    /// The share of the steps' time that has passed, 0 to 1 and beyond. Half of the run is for steps in any
    /// case.
    double way(double passed) const { return passed / (m_seconds - std::min(m_validation, m_seconds / 2)); }
    /// Until the end of the run.
    double left(double passed) const { return std::max(0.0, m_seconds - passed); }

private:
    double m_seconds, m_validation = 0;
    bool m_measured = false;
};

/// "1:02:03"; 0:00:00 for less than nothing.
inline std::string clockText(double seconds) {
    const long whole = seconds > 0 ? static_cast<long>(std::min(seconds, 1e9)) : 0;
    char text[32];
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    return text;
}

}  // namespace mpm::models
