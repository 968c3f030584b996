// Converts TensorProto and AttributeProto. Only the reader includes this header, as it exposes protobuf.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <onnx/onnx_pb.h>

#include "models/onnx/ir/graph.hpp"

namespace google::protobuf::io {
class ZeroCopyInputStream;
}

namespace mpm::models {

Type typeOf(int elementType);  ///< of an onnx::TensorProto::DataType; throws Refusal if unsupported

/// f32 and i64 data stays in the protobuf message, which `owner` keeps alive; without one it is copied.
/// External data is beside `model`.
Tensor readTensor(const onnx::TensorProto& proto, const std::shared_ptr<const onnx::ModelProto>& owner,
                  const std::string& model);

/// Returns false for kinds that no supported operator has (graphs, types, sparse tensors).
bool readAttribute(const onnx::AttributeProto& proto, const std::shared_ptr<const onnx::ModelProto>& owner,
                   const std::string& model, Attribute& attribute);

/// The attributes that a function declares with a value; `held` is charged with them.
void readDefaults(const onnx::FunctionProto& function, onnx::NodeProto& defaults, Held& held);

void writeAttribute(const std::string& name, const Attribute& attribute, onnx::AttributeProto& proto);

/// Batch 1, opset 18: gathers and a scan, no scatter.
void addFunctionBodies(onnx::ModelProto& model);

constexpr int kDeepestMessage = 64;  // nesting of messages

/// An upper bound of the bytes of the parsed ModelProto, including those of the file. Reads the stream once.
/// Throws Refusal if the bytes are not a message.
std::int64_t bytesOfModel(google::protobuf::io::ZeroCopyInputStream& stream);

/// Expands BiasGelu, Gelu, FastGelu, QuickGelu, SkipLayerNormalization and
/// SkipSimplifiedLayerNormalization of domain com.microsoft; FusedMatMul moves to domain `mpm.internal`, as
/// it can only be expanded when shapes are known. Other operators of the domain stay and fail when they are
/// evaluated. The graph is sorted.
void expandOptimised(Graph& graph);

/// SequenceAt of a SplitToSequence or a SequenceConstruct becomes a slice, a gather or the tensor itself;
/// ConcatFromSequence of a SequenceConstruct becomes a concatenation.
/// Other sequences fail when they are evaluated. The graph is sorted.
void resolveSequences(Graph& graph);

}  // namespace mpm::models
