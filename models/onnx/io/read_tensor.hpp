// Steps of reading and writing ONNX files. For the files of io only, because this header exposes protobuf.
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

/// Reads a tensor. Data in f32 or i64 remains in the protobuf message, which `owner` keeps alive; without an
/// owner, the data is copied. External data must be next to `model`.
Tensor readTensor(const onnx::TensorProto& proto, const std::shared_ptr<const onnx::ModelProto>& owner,
                  const std::string& model);

/// Reads an attribute. Returns false for kinds that no supported operator has (graphs, types, sparse
/// tensors).
bool readAttribute(const onnx::AttributeProto& proto, const std::shared_ptr<const onnx::ModelProto>& owner,
                   const std::string& model, Attribute& attribute);

/// Reads the attributes that a function declares with a value, and charges their bytes to `held`.
void readDefaults(const onnx::FunctionProto& function, onnx::NodeProto& defaults, Held& held);

void writeAttribute(const std::string& name, const Attribute& attribute, onnx::AttributeProto& proto);

/// Adds the functions MpmMerge and MpmRestore, for batch 1 and opset 18. They use gathers and a scan, but no
/// scatter.
void addFunctionBodies(onnx::ModelProto& model);

constexpr int kDeepestMessage = 64;  // nesting of messages

/// Returns an upper bound of the bytes of the parsed ModelProto, including the file's bytes. Reads the stream
/// once. Throws Refusal if the bytes are not a message.
std::int64_t bytesOfModel(google::protobuf::io::ZeroCopyInputStream& stream);

/// Expands Attention, BiasGelu, Gelu, FastGelu, FusedConv, QuickGelu, SkipLayerNormalization and
/// SkipSimplifiedLayerNormalization of domain com.microsoft. Moves FusedMatMul to domain `mpm.internal`,
/// because its expansion needs the shapes. Other operators of the domain fail at evaluation. Sorts the graph.
void expandOptimised(Graph& graph);

/// Replaces SequenceAt of a SplitToSequence or a SequenceConstruct by a slice, a gather or the tensor itself,
/// and ConcatFromSequence of a SequenceConstruct by a concatenation. Other sequences fail at evaluation.
/// Sorts the graph.
void resolveSequences(Graph& graph);

}  // namespace mpm::models
