// The precisions by the names that options, settings and messages use. <mpm/mpm.hpp> has everything else.
#pragma once

#include <string>
#include <vector>

#include <mpm/mpm.hpp>

namespace mpm {

struct PrecisionInfo {
    Precision precision = Precision::F32;
    std::string name;         ///< "bf16"
    bool onProcessor = true;  ///< false: on a GPU only
};

/// All precisions, in the order of help and messages.
MPM_API std::vector<PrecisionInfo> precisions();

/// @return their names as a message lists them: "f32, tf32, bf16, f16, i8, auto or auto-fast"
MPM_API std::string precisionNames();

}  // namespace mpm
