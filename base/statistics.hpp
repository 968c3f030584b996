// Quantiles, means and deviations of a list of numbers.
#pragma once

#include <vector>

namespace mpm {

/// The value below which a share (0 to 1) of `values` is, interpolated between the two nearest values. NaN
/// without values.
double quantile(std::vector<double> values, double share);
double mean(const std::vector<double>& values);       ///< NaN without values
double deviation(const std::vector<double>& values);  ///< of the sample (n - 1); 0 for fewer than two

/// Work over total time: `counts[i]` images took `ms[i]` milliseconds.
struct Rate {
    double perSecond;
    double standardError;  ///< from the scatter of the entries; NaN of fewer than two
};
Rate rateOf(const std::vector<double>& counts, const std::vector<double>& ms);

}  // namespace mpm
