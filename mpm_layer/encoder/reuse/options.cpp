#include "mpm_layer/encoder/reuse/plan.hpp"

#include <cmath>
#include <locale>
#include <sstream>
#include <tuple>

#include <mpm/read_net.hpp>

#include "base/printable.hpp"

namespace mpm {
namespace {

auto fieldsOf(const Reuse& r) {
    return std::tie(r.sensitivity, r.floor, r.exact, r.refresh, r.full, r.budget);
}

[[noreturn]] void rejectText(const std::string& text) {
    CV_Error(
        cv::Error::StsBadArg,
        "mpm: reuse '" + printable(text, 80) +
            "' is not known; expected on, off, or values such as refresh=30,full=0.25 (sensitivity, floor, "
            "exact, refresh, full, budget)");
}

double numberFrom(const std::string& value, const std::string& text) {
    std::istringstream stream(value);
    stream.imbue(std::locale::classic());
    double number = 0;
    if (!(stream >> number) || stream.peek() != std::char_traits<char>::eof()) rejectText(text);
    return number;
}

void setValue(const std::string& part, const std::string& text, Reuse& reuse) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) rejectText(text);
    const std::string name = part.substr(0, equals), value = part.substr(equals + 1);
    if (name == "sensitivity") {
        reuse.sensitivity = numberFrom(value, text);
    } else if (name == "floor") {
        reuse.floor = numberFrom(value, text);
    } else if (name == "full") {
        reuse.full = numberFrom(value, text);
    } else if (name == "budget") {
        reuse.budget = numberFrom(value, text);
    } else if (name == "exact" && (value == "0" || value == "1")) {
        reuse.exact = value == "1";
    } else if (name == "refresh" && !value.empty() && value.size() <= 6 &&
               value.find_first_not_of("0123456789") == std::string::npos) {
        reuse.refresh = std::stoi(value);
    } else {
        rejectText(text);
    }
}

}  // namespace

void checkReuse(const Reuse& reuse) {
    const auto require = [](bool holds, const char* name, double value, const char* expected) {
        if (holds) return;
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: reuse %s must be %s, got %g", name, expected, value));
    };
    require(std::isfinite(reuse.sensitivity) && reuse.sensitivity >= 0, "sensitivity", reuse.sensitivity,
            "0 or more");
    require(reuse.floor == -1 || (std::isfinite(reuse.floor) && reuse.floor >= 0), "floor", reuse.floor,
            "0 or more, or -1 for the default");
    require(reuse.refresh >= 0, "refresh", reuse.refresh, "0 or more");
    require(reuse.full >= 0 && reuse.full <= 1, "full", reuse.full, "a share between 0 and 1");
    require(reuse.budget >= 0 && reuse.budget <= 1, "budget", reuse.budget, "a share between 0 and 1");
}

bool sameReuse(const Reuse& a, const Reuse& b) {
    return fieldsOf(a) == fieldsOf(b);
}

Reuse reuseOfFile(const std::string& text) {
    if (text == "on" || text == "off") rejectText(text);
    return *reuseFrom(text);
}

std::optional<Reuse> reuseFrom(const std::string& text) {
    return reuseFrom(text, Reuse());
}

std::optional<Reuse> reuseFrom(const std::string& text, const Reuse& others) {
    if (text == "off") return std::nullopt;
    Reuse reuse = others;
    if (text == "on") return reuse;
    std::istringstream parts(text + ",");  // so that the last one, too, ends with a comma
    for (std::string part; std::getline(parts, part, ',');)
        setValue(part, text, reuse);
    checkReuse(reuse);
    return reuse;
}

}  // namespace mpm
