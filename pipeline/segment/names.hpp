// Names of devices and precisions in options, reports and tables.
#pragma once

#include <optional>
#include <string>

#include <mpm/mpm.hpp>

namespace mpm::pipeline {

std::string deviceName(mpm::Device device);           ///< "cpu", "cuda", "auto"
std::string precisionName(mpm::Precision precision);  ///< "f32" ... "auto-fast"
std::optional<mpm::Precision> precisionFrom(const std::string& name);

}  // namespace mpm::pipeline
