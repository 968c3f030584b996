// Describes any ONNX file without converting it: for `mpm info`.
#pragma once

#include <string>

#include "models/onnx/conversion.hpp"
#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/ir/list.hpp"

namespace mpm::models {

struct Inspection {
    bool converted = false;  ///< contains MpmEncoder, MpmMerge or MpmRestore
    bool convertible = false;
    std::string reason;                        ///< why it is not convertible
    Conversion found;                          ///< if converted or convertible
    std::vector<std::string> inputs, outputs;  ///< "image f32 [batch, 3, 512, 512]"
    int opset = 0;
    std::string producer;
};

/// Throws Refusal if the file is not a model, BudgetError if reading it takes more memory or time than a
/// model of that size needs.
Inspection inspectModel(const std::string& path);

/// The same for a file in memory, without external data.
Inspection inspectModel(const void* bytes, size_t size);

/// Whether storeMerging() may write the file: to be asked before a minute of measuring.
bool canStoreMerging(const std::string& path);

/// Changes only attributes, metadata and the version of the domain. Atomic. Throws Refusal if the file is not
/// a model of the fused form, cv::Exception if the file cannot be written.
void storeMerging(const std::string& path, const Merging& merging);

}  // namespace mpm::models
