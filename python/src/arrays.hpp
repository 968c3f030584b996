// NumPy arrays as matrices and back, and exceptions that name the argument.
#pragma once

#include <string>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <opencv2/core.hpp>

namespace mpm::python {

namespace py = pybind11;

/// A matrix over the memory of an array, and a reference that keeps this memory.
struct HeldMat {
    cv::Mat mat;
    py::array array;
};

/// An 8-bit BGR image: uint8, rows x columns x 3. Throws TypeError or ValueError that begins with `name`.
HeldMat imageFrom(const py::handle& value, const std::string& name);

/// float32, rows x columns.
HeldMat tokensFrom(const py::handle& value, const std::string& name);

/// int32, one dimension -> CV_32S 1xN.
HeldMat mapFrom(const py::handle& value, const std::string& name);

/// An array without gaps, of `type` and with `dims` dimensions (any number if it is 0): `value`, or a copy of
/// it where it is a view with gaps or another order, as crops and mirrored images are.
py::array checkedArray(const py::handle& value, const std::string& name, const py::dtype& type, int dims);

/// An array that shares the matrix's memory and keeps it alive. A row of one dimension if `flat`. None of an
/// empty matrix.
py::object arrayFrom(const cv::Mat& matrix, bool flat = false);

/// (rows, columns)
py::tuple sizeTuple(cv::Size size);

}  // namespace mpm::python
