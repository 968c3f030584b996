// Arguments of functions and values of properties, with errors that name them and the expected value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>
#include <opencv2/core/types.hpp>

namespace mpm::python {

namespace py = pybind11;

std::string textFrom(const py::handle& value, const std::string& name, const std::string& expected = "text");

/// Text or a pathlib.Path.
std::string pathFrom(const py::handle& value, const std::string& name);

/// Block numbers from a sequence, or from text as the command line takes it: "2,5" or "none".
std::vector<int> blocksFrom(const py::handle& value, const std::string& name = "blocks");

/// (rows, columns), or None: empty.
cv::Size sizeFrom(const py::handle& value, const std::string& name = "size");

/// "2,5", or "none" if there are no blocks.
std::string blocksText(const std::vector<int>& blocks);

/// Methods of `bound` raise TypeError for an object whose __init__ has not run, as after
/// Model.__new__(Model): pybind11 would give them memory that nobody has initialised.
template <class Bound>
Bound& rejectUnfinished(Bound& bound) {
    py::detail::get_type_info(typeid(typename Bound::type))->operator_new = [](std::size_t) -> void* {
        throw py::type_error("the object is not initialised: its __init__() has not been called");
    };
    return bound;
}

}  // namespace mpm::python
