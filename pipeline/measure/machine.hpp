// The machine that a measurement ran on, as text.
#pragma once

#include <string>

namespace mpm::pipeline {

std::string cpuName();      ///< "AMD EPYC 9R14 (2 threads)"
std::string cpuFeatures();  ///< the instruction sets that matter to the kernels

}  // namespace mpm::pipeline
