// Quantiles, means and deviations of a list of numbers.
#pragma once

#include <vector>

namespace mpm {

/// Returns the quantile of `values` for a share from 0 to 1, interpolated between the two nearest values. If
/// there are no values, returns NaN.
double quantile(std::vector<double> values, double share);
double mean(const std::vector<double>& values);       ///< NaN without values
double deviation(const std::vector<double>& values);  ///< of a sample (n - 1); 0 for fewer than two values

/// Total work divided by total time: `counts[i]` images took `ms[i]` milliseconds.
struct Rate {
    double perSecond;
    double standardError;  ///< computed from the differences between entries; NaN for fewer than two entries
};
Rate rateOf(const std::vector<double>& counts, const std::vector<double>& ms);

}  // namespace mpm
