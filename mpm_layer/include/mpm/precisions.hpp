// The precisions and their names in options, settings and messages. <mpm/mpm.hpp> has everything else.
#pragma once

#include <string>
#include <vector>

#include <mpm/mpm.hpp>

namespace mpm {

struct PrecisionInfo {
    Precision precision = Precision::F32;
    std::string name;         ///< such as "bf16"
    bool onProcessor = true;  ///< false: runs only on a GPU
};

/// @return all precisions, in the order in which help and messages list them
MPM_API std::vector<PrecisionInfo> precisions();

/// @return the names of all precisions for a message: "f32, tf32, bf16, f16, i8, auto or auto-fast"
MPM_API std::string precisionNames();

}  // namespace mpm
