#include "mpm_layer/merge/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include <opencv2/core.hpp>

namespace mpm {

Parameters::Parameters(const std::string& method) {
    const size_t colon = method.find(':');
    m_name = method.substr(0, colon);
    if (colon == std::string::npos) return;
    std::istringstream parts(method.substr(colon + 1));
    for (std::string part; std::getline(parts, part, ',');) {
        const size_t equals = part.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) {
            CV_Error(cv::Error::StsBadArg,
                     "mpm: method '" + method + "' has '" + part + "' where KEY=VALUE is expected");
        }
        m_values[part.substr(0, equals)] = part.substr(equals + 1);
        m_used[part.substr(0, equals)] = false;
    }
}

void Parameters::refuse(const std::string& key, const std::string& expected) const {
    CV_Error(cv::Error::StsBadArg,
             "mpm: method " + m_name + " has " + key + "=" + m_values.at(key) + "; expected " + expected);
}

double Parameters::number(const std::string& key, double fallback, double lowest, double highest) {
    const auto found = m_values.find(key);
    if (found == m_values.end()) return fallback;
    m_used[key] = true;
    char* end = nullptr;
    const double value = std::strtod(found->second.c_str(), &end);
    if (*end != '\0' || !(value >= lowest && value <= highest)) {
        refuse(key, cv::format("a number in %g..%g", lowest, highest));
    }
    return value;
}

int Parameters::integer(const std::string& key, int fallback, int lowest, int highest) {
    const double value = number(key, fallback, lowest, highest);
    if (value != std::floor(value)) refuse(key, "a whole number");
    return static_cast<int>(value);
}

std::string Parameters::word(const std::string& key, const std::string& fallback,
                             const std::vector<std::string>& allowed) {
    const auto found = m_values.find(key);
    if (found == m_values.end()) return fallback;
    m_used[key] = true;
    if (std::find(allowed.begin(), allowed.end(), found->second) == allowed.end()) {
        std::string list;
        for (const std::string& a : allowed)
            list += (list.empty() ? "" : ", ") + a;
        refuse(key, "one of " + list);
    }
    return found->second;
}

void Parameters::finish() const {
    for (const auto& [key, used] : m_used) {
        if (!used)
            CV_Error(cv::Error::StsBadArg, "mpm: method " + m_name + " knows no parameter '" + key + "'");
    }
}

}  // namespace mpm
