// Positions and labels of the marks on a time axis.
#pragma once

#include <cstdint>
#include <vector>

#include <QString>

namespace mpm::gui {

/// Lengths of time, in milliseconds.
inline constexpr std::int64_t kSecond = 1'000, kMinute = 60 * kSecond, kHour = 60 * kMinute,
                              kDay = 24 * kHour;

struct TimeMark {
    std::int64_t time;  ///< milliseconds since 1970
    QString text;
};

/// Returns at most `most` + 1 marks at round local times in [from, to).
std::vector<TimeMark> timeMarks(std::int64_t from, std::int64_t to, int most);

}  // namespace mpm::gui
