// NumPy arrays as matrices and back, without copies, and exceptions that name the argument.
#pragma once

#include <string>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <opencv2/core.hpp>

namespace mpm::python {

namespace py = pybind11;

/// An 8-bit BGR image: uint8, rows x columns x 3. Throws TypeError or ValueError that begins with `name`. The
/// matrix is a view: `value` must outlive it.
cv::Mat imageFrom(const py::handle& value, const std::string& name);

/// float32, rows x columns.
cv::Mat tokensFrom(const py::handle& value, const std::string& name);

/// int32, one dimension -> CV_32S 1xN.
cv::Mat mapFrom(const py::handle& value, const std::string& name);

/// An array without gaps, of `type` and with `dims` dimensions (any number where it is 0).
py::array checkedArray(const py::handle& value, const std::string& name, const py::dtype& type, int dims);

/// An array that shares the matrix's memory and keeps it alive. A row of one dimension if `flat`. None of an
/// empty matrix.
py::object arrayFrom(const cv::Mat& matrix, bool flat = false);

/// (rows, columns)
py::tuple sizeFrom(cv::Size size);

}  // namespace mpm::python
