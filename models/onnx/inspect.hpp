// The description of an ONNX file for `mpm info`, and the merge settings that `mpm tune` stores in the file.
#pragma once

#include <string>

#include "models/onnx/conversion.hpp"
#include "models/onnx/ir/encoder.hpp"
#include "models/onnx/ir/list.hpp"

namespace mpm::models {

struct Inspection {
    bool converted = false;  ///< contains MpmEncoder, MpmMerge or MpmRestore
    bool convertible = false;
    std::string reason;                        ///< why the file is not convertible
    Conversion found;                          ///< results of the analysis; complete if `convertible`
    std::vector<std::string> inputs, outputs;  ///< such as "image f32 [batch, 3, 512, 512]"
    int opset = 0;
    std::string producer;
};

/// Inspects a file. Throws Refusal if the file is not a model. Throws BudgetError if reading takes more
/// memory or time than a model of that size needs.
Inspection inspectModel(const std::string& path);

/// Inspects a file in memory. The file must not refer to external data.
Inspection inspectModel(const void* bytes, size_t size);

/// Returns whether storeMerging() can write the file. A program that measures for a minute before it stores
/// the result should call this function first.
bool canStoreMerging(const std::string& path);

/// Stores method and schedule atomically in a model of the fused form. Changes only attributes, metadata and
/// the version of the domain mpm. Throws Refusal if the file is not a model of the fused form, cv::Exception
/// if the file cannot be written.
void storeMerging(const std::string& path, const Merging& merging);

}  // namespace mpm::models
