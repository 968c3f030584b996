#include "mpm_layer/encoder/reuse/plan.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <locale>
#include <numeric>
#include <sstream>
#include <tuple>
#include <utility>

#include <mpm/read_net.hpp>

#include "base/loops.hpp"
#include "base/printable.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

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
    std::istringstream parts(text + ",");  // so that the last part also ends with a comma
    for (std::string part; std::getline(parts, part, ',');)
        setValue(part, text, reuse);
    checkReuse(reuse);
    return reuse;
}

namespace {

constexpr int kGrainOfFollowed = 64;  // rows of a parallel task

// Returns whether all values are finite. The squared length of a row is finite only if its values are.
bool finite(const FrameRows& frame) {
    std::atomic<bool> all{true};
    parallelFor(
        frame.rows(),
        [&](int r) {
            if (!std::isfinite(kernels::squaredDistance(frame.row(r), nullptr, frame.dim))) all = false;
        },
        kGrainOfFollowed);
    return all;
}

}  // namespace

FramePlan StreamFollower::next(const FrameRows& frame, const FramePlan& lead) {
    FramePlan plan;
    plan.state = lead.state;
    const bool misses = lead.number != std::exchange(m_number, lead.number) + 1;
    const size_t values = static_cast<size_t>(frame.rows()) * frame.dim;
    if (!lead.remembers || !finite(frame)) {
        plan.remembers = false;
        restart();
        return plan;
    }
    const bool partial = lead.state == ReuseState::Partial && !misses && m_previous.size() == values &&
                         frame.tokens >= static_cast<int>(lead.reasons.size());
    if (partial) {
        plan = planPartial(frame, lead);
    } else {
        plan.state = ReuseState::Full;
        plan.tokens.resize(frame.tokens);
        std::iota(plan.tokens.begin(), plan.tokens.end(), 0);
    }
    m_previous.resize(values);
    parallelCopy(frame.data, values, m_previous.data());
    return plan;
}

bool StreamFollower::changed(const FrameRows& frame, int row) const {
    const size_t at = static_cast<size_t>(row) * frame.dim;
    return std::memcmp(&m_previous[at], frame.row(row), frame.dim * sizeof(float)) != 0;
}

FramePlan StreamFollower::planPartial(const FrameRows& frame, const FramePlan& lead) const {
    FramePlan plan;
    plan.state = ReuseState::Partial;
    plan.reasons = lead.reasons;
    const int leading = static_cast<int>(lead.reasons.size());
    std::vector<char> differs(frame.rows());
    parallelFor(
        frame.rows(), [&](int r) { differs[r] = changed(frame, r); }, kGrainOfFollowed);
    plan.idle = lead.idle && std::count(differs.begin(), differs.end(), 1) == 0;
    if (plan.idle) return plan;
    size_t next = 0;
    for (int t = 0; t < frame.tokens; ++t) {
        const bool led = next < lead.tokens.size() && lead.tokens[next] == t;
        if (led) ++next;
        if (led || t >= leading || differs[frame.special + t]) plan.tokens.push_back(t);
    }
    return plan;
}

}  // namespace mpm
