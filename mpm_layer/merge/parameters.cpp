#include "mpm_layer/merge/parameters.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include <opencv2/core.hpp>

#include "base/printable.hpp"

namespace mpm {
namespace {

// Reads a number with a decimal point in any locale, unlike strtod().
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

std::string joined(const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& word : words)
        list += (list.empty() ? "" : ", ") + word;
    return list;
}

[[noreturn]] void reject(const MethodText& method, const std::string& key, const std::string& expected) {
    CV_Error(cv::Error::StsBadArg, "mpm: method " + method.name + " has " + key + "=" +
                                       printable(method.values.at(key), 80) + "; expected " + expected);
}

double numberIn(const MethodText& method, const Parameter& parameter) {
    const auto given = method.values.find(parameter.key);
    if (given == method.values.end()) return parameter.value;
    double value = 0;
    if (!readNumber(given->second, value) || !(value >= parameter.lowest && value <= parameter.highest))
        reject(method, parameter.key, "a number in " + parameter.values());
    if (parameter.whole && value != std::floor(value)) reject(method, parameter.key, "a whole number");
    return value;
}

// Reads an amount. A number with a decimal point is a share: "1.0" is all pairs, "1" is a single pair.
Amount amountIn(const MethodText& method, const Parameter& parameter) {
    const auto given = method.values.find(parameter.key);
    if (given == method.values.end() || given->second == "all") return {};
    const std::string& text = given->second;
    Amount amount;
    double value = 0;
    const bool number = readNumber(text, value) && value > 0;
    if (text.find('.') != std::string::npos) {
        if (!number || value > 1) reject(method, parameter.key, parameter.values());
        amount.share = value;
    } else {
        const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
        if (!number || !digits || value >= std::numeric_limits<int>::max())
            reject(method, parameter.key, parameter.values());
        amount.most = static_cast<int>(value);
    }
    return amount;
}

std::string wordIn(const MethodText& method, const Parameter& parameter) {
    const auto given = method.values.find(parameter.key);
    if (given == method.values.end()) return parameter.words.front();
    if (std::find(parameter.words.begin(), parameter.words.end(), given->second) == parameter.words.end())
        reject(method, parameter.key, "one of " + parameter.values());
    return given->second;
}

}  // namespace

int Amount::of(int pairs) const {
    return std::min(most, static_cast<int>(std::floor(share * pairs + 0.5)));
}

Parameter Parameter::number(const std::string& key, double fallback, double lowest, double highest) {
    return {key, fallback, lowest, highest, false, {}};
}

Parameter Parameter::integer(const std::string& key, int fallback, int lowest, int highest) {
    return {key, double(fallback), double(lowest), double(highest), true, {}};
}

Parameter Parameter::word(const std::string& key, const std::vector<std::string>& words) {
    return {key, 0, 0, 0, false, words};
}

Parameter Parameter::amount(const std::string& key) {
    return {key, 0, 0, 0, false, {}, true};
}

std::string Parameter::fallback() const {
    if (isAmount) return "all";
    return words.empty() ? numberText(value) : words.front();
}

std::string Parameter::values() const {
    if (isAmount) return "all, a share of at most 1 with a decimal point, or a count of at least 1";
    return words.empty() ? numberText(lowest) + ".." + numberText(highest) : joined(words);
}

MethodText::MethodText(const std::string& text) {
    const size_t colon = text.find(':');
    name = text.substr(0, colon);
    if (colon == std::string::npos) return;
    std::istringstream parts(text.substr(colon + 1) + ",");  // so that the last part also ends with a comma
    for (std::string part; std::getline(parts, part, ',');) {
        const size_t equals = part.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) {
            CV_Error(cv::Error::StsBadArg, "mpm: method '" + printable(text, 80) + "' has '" +
                                               printable(part, 80) + "' where KEY=VALUE is expected");
        }
        const std::string key = part.substr(0, equals);
        if (!values.emplace(key, part.substr(equals + 1)).second)
            CV_Error(cv::Error::StsBadArg,
                     "mpm: method '" + printable(text, 80) + "' has " + printable(key, 80) + " twice");
    }
}

Arguments::Arguments(const MethodText& method, const std::vector<Parameter>& declared) {
    for (const Parameter& parameter : declared) {
        if (parameter.isAmount)
            m_amounts[parameter.key] = amountIn(method, parameter);
        else if (parameter.words.empty())
            m_numbers[parameter.key] = numberIn(method, parameter);
        else
            m_words[parameter.key] = wordIn(method, parameter);
    }
    for (const auto& [key, value] : method.values) {
        if (m_numbers.count(key) + m_words.count(key) + m_amounts.count(key) == 0)
            CV_Error(cv::Error::StsBadArg,
                     "mpm: method " + method.name + " has no parameter '" + printable(key, 80) + "'");
    }
}

}  // namespace mpm
