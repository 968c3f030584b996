// Numbers about numbers.
#pragma once

#include <vector>

namespace mpm::cli {

/// The value below which a share of `values` lies, between the two nearest where it falls between them.
double quantile(std::vector<double> values, double share);
double mean(const std::vector<double>& values);
double deviation(const std::vector<double>& values);  ///< of the sample (n - 1); 0 for fewer than two

}  // namespace mpm::cli
