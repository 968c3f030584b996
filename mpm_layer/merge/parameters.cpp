#include "mpm_layer/merge/parameters.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include <opencv2/core.hpp>

#include "base/printable.hpp"

namespace mpm {
namespace {

// By neither strtod nor printf: both write 0,5 where the host's language does, as every program with Qt may.
bool readNumber(const std::string& text, double& value) {
    const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
    const char *first = text.data() + (plus ? 1 : 0), *last = text.data() + text.size();
    const auto [end, error] = std::from_chars(first, last, value);
    return error == std::errc() && end == last;
}

std::string numberText(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

Parameters::Parameters(const std::string& method) {
    const size_t colon = method.find(':');
    m_name = method.substr(0, colon);
    if (colon == std::string::npos) return;
    std::istringstream parts(method.substr(colon + 1) + ",");  // the last one, too, ends with a comma
    for (std::string part; std::getline(parts, part, ',');) {
        const size_t equals = part.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) {
            CV_Error(cv::Error::StsBadArg, "mpm: method '" + printable(method, 80) + "' has '" +
                                               printable(part, 80) + "' where KEY=VALUE is expected");
        }
        const std::string key = part.substr(0, equals);
        if (!m_values.emplace(key, part.substr(equals + 1)).second)
            CV_Error(cv::Error::StsBadArg,
                     "mpm: method '" + printable(method, 80) + "' has " + printable(key, 80) + " twice");
        m_used[key] = false;
    }
}

void Parameters::refuse(const std::string& key, const std::string& expected) const {
    CV_Error(cv::Error::StsBadArg, "mpm: method " + m_name + " has " + key + "=" +
                                       printable(m_values.at(key), 80) + "; expected " + expected);
}

double Parameters::number(const std::string& key, double fallback, double lowest, double highest) {
    const auto found = m_values.find(key);
    if (found == m_values.end()) return fallback;
    m_used[key] = true;
    double value = 0;
    if (!readNumber(found->second, value) || !(value >= lowest && value <= highest))
        refuse(key, "a number in " + numberText(lowest) + ".." + numberText(highest));
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
            CV_Error(cv::Error::StsBadArg,
                     "mpm: method " + m_name + " knows no parameter '" + printable(key, 80) + "'");
    }
}

}  // namespace mpm
