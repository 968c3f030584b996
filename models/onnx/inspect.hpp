// What any ONNX file is, without converting it: for `mpm info`.
#pragma once

#include "models/onnx/conversion.hpp"
#include "models/onnx/ir/refusal.hpp"

namespace mpm::models {

struct Inspection {
    bool converted = false;  ///< has our encoder in it
    bool convertible = false;
    std::string reason;                        ///< why not
    Conversion found;                          ///< where converted or convertible
    std::vector<std::string> inputs, outputs;  ///< "image f32 [batch, 3, 512, 512]"
    int opset = 0;
    std::string producer;
};

/// Throws Refusal where the file is no model at all, BudgetError where reading it takes more memory or time
/// than a model of its size does.
Inspection inspectModel(const std::string& path);

/// The same from memory, without external data.
Inspection inspectModel(const void* bytes, size_t size);

}  // namespace mpm::models
