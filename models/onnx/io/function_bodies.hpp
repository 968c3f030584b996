// MpmMerge and MpmRestore in standard operators, for engines without them.
#pragma once

#include <onnx/onnx_pb.h>

namespace mpm::models {

/// Batch 1, opset 18: gathers and a scan, no scatter.
void addFunctionBodies(onnx::ModelProto& model);

}  // namespace mpm::models
