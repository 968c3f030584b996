// The machine, in words.
#pragma once

#include <string>

namespace mpm::cli {

std::string cpuName();      ///< "AMD EPYC 9R14 (2 threads)"
std::string cpuFeatures();  ///< the instruction sets that matter to the kernels

}  // namespace mpm::cli
