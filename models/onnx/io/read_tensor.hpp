// Converts TensorProto and AttributeProto. Only the reader includes this header, as it exposes protobuf.
#pragma once

#include <memory>
#include <string>

#include <onnx/onnx_pb.h>

#include "models/onnx/ir/graph.hpp"

namespace mpm::models {

Type typeOf(int elementType);  ///< of an onnx::TensorProto::DataType; throws Refusal if unsupported

/// f32 and i64 data stays in the protobuf message, which `owner` keeps alive. External data is beside
/// `model`.
Tensor readTensor(const onnx::TensorProto& proto, const std::shared_ptr<const onnx::ModelProto>& owner,
                  const std::string& model);

/// Returns false for kinds that no supported operator has (graphs, types, sparse tensors).
bool readAttribute(const onnx::AttributeProto& proto, const std::shared_ptr<const onnx::ModelProto>& owner,
                   const std::string& model, Attribute& attribute);

}  // namespace mpm::models
