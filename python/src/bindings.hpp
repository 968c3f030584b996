// The parts of the module, each in a file of its own.
#pragma once

#include <pybind11/pybind11.h>

namespace mpm::python {

void bindModel(pybind11::module_& module);      ///< Model, Result
void bindConvert(pybind11::module_& module);    ///< convert, info
void bindMeasure(pybind11::module_& module);    ///< bench, evaluate, join
void bindOperators(pybind11::module_& module);  ///< the C interface: Operator, settings, reports

}  // namespace mpm::python
