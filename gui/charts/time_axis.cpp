#include "gui/charts/time_axis.hpp"

#include <QDateTime>

namespace mpm::gui {

namespace {

constexpr std::int64_t kSteps[] = {
    kSecond,     2 * kSecond,  5 * kSecond,  10 * kSecond, 15 * kSecond, 30 * kSecond, kMinute,   2 * kMinute,
    5 * kMinute, 10 * kMinute, 15 * kMinute, 30 * kMinute, kHour,        2 * kHour,    3 * kHour, 6 * kHour,
    12 * kHour,  kDay,         2 * kDay,     7 * kDay,     14 * kDay,    30 * kDay,    90 * kDay};

std::int64_t stepFor(std::int64_t length, int most) {
    for (std::int64_t step : kSteps)
        if (length / step <= most) return step;
    return 365 * kDay;
}

}  // namespace

std::vector<TimeMark> timeMarks(std::int64_t from, std::int64_t to, int most) {
    std::vector<TimeMark> marks;
    if (to <= from || most < 1) return marks;
    const std::int64_t step = stepFor(to - from, most);
    const QString format = step < kMinute ? QStringLiteral("HH:mm:ss")
                           : step < kDay  ? QStringLiteral("HH:mm")
                                          : QStringLiteral("d MMM");
    // Marks are at round local times. Each mark needs its own offset from UTC, because of summer time.
    const auto offsetAt = [](std::int64_t time) {
        return 1000LL * QDateTime::fromMSecsSinceEpoch(time).offsetFromUtc();
    };
    const std::int64_t first = (from + offsetAt(from) + step - 1) / step * step;
    for (std::int64_t wall = first;; wall += step) {
        std::int64_t time = wall - offsetAt(wall - offsetAt(from));
        if (time >= to) break;
        if (time < from || (!marks.empty() && time <= marks.back().time)) continue;
        const QDateTime local = QDateTime::fromMSecsSinceEpoch(time);
        // The mark at midnight shows the date.
        const bool midnight = step < kDay && step >= kHour && local.time() == QTime(0, 0);
        marks.push_back({time, local.toString(midnight ? QStringLiteral("d MMM") : format)});
    }
    return marks;
}

}  // namespace mpm::gui
