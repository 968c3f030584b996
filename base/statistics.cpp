#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mpm {

double quantile(std::vector<double> values, double share) {
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    std::sort(values.begin(), values.end());
    const double at = share * static_cast<double>(values.size() - 1);
    const size_t low = static_cast<size_t>(at), high = std::min(low + 1, values.size() - 1);
    return values[low] + (values[high] - values[low]) * (at - static_cast<double>(low));
}

double mean(const std::vector<double>& values) {
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
    if (values.size() < 2) return 0;
    const double middle = mean(values);
    double squares = 0;
    for (double value : values)
        squares += (value - middle) * (value - middle);
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// The standard error of the rate comes from the residual of each entry: count - rate * time.
Rate rateOf(const std::vector<double>& counts, const std::vector<double>& ms) {
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    const double count = std::accumulate(counts.begin(), counts.end(), 0.0);
    const double total = std::accumulate(ms.begin(), ms.end(), 0.0);
    if (!(total > 0)) return {kUnknown, kUnknown};
    const double rate = count / total;
    std::vector<double> beside;
    for (size_t i = 0; i < counts.size(); ++i)
        beside.push_back(counts[i] - rate * ms[i]);
    const double error = deviation(beside) * std::sqrt(static_cast<double>(beside.size())) / total;
    return {1000 * rate, beside.size() < 2 ? kUnknown : 1000 * error};
}

}  // namespace mpm
