// The assignment of rows to columns with the least sum of costs.
#pragma once

#include <utility>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::pipeline {

/// min(rows, columns) pairs of a row and a column, by row. Of several assignments with the same sum it takes
/// that of SciPy's linear_sum_assignment, on which the published figures of tracks depend.
/// @param costs finite
std::vector<std::pair<int, int>> leastAssignment(const cv::Mat_<double>& costs);

}  // namespace mpm::pipeline
