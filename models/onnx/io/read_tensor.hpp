// Functions that read and write parts of ONNX files. Only sources of this folder may include this header,
// because it exposes protobuf.
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

Type typeOf(int elementType);  ///< takes an onnx::TensorProto::DataType; throws Refusal if unsupported

/// Reads a tensor. If `owner` is not null, aligned raw data in f32 or int64 stays in the message, and the
/// tensor keeps `owner` alive. Other data is copied. External data must be next to the file `model`.
Tensor readTensor(const onnx::TensorProto& proto, const std::shared_ptr<const onnx::ModelProto>& owner,
                  const std::string& model);

/// Reads an attribute. Returns false for kinds that no supported operator uses (graphs, types, sparse
/// tensors).
bool readAttribute(const onnx::AttributeProto& proto, const std::shared_ptr<const onnx::ModelProto>& owner,
                   const std::string& model, Attribute& attribute);

/// Reads the default attributes that a function declares, and charges their bytes to `held`.
void readDefaults(const onnx::FunctionProto& function, onnx::NodeProto& defaults, Held& held);

void writeAttribute(const std::string& name, const Attribute& attribute, onnx::AttributeProto& proto);

/// Defines MpmMerge and MpmRestore, for batch 1, with standard operators of opset 18, but without Scatter.
void addFunctionBodies(onnx::ModelProto& model);

constexpr int kDeepestMessage = 64;  // maximum nesting of messages

/// Returns an upper bound on the memory of the parsed ModelProto, including the file's bytes. Reads the whole
/// stream. Throws Refusal if the stream is not a valid message.
std::int64_t bytesOfModel(google::protobuf::io::ZeroCopyInputStream& stream);

/// Expands Attention, BiasGelu, Gelu, FastGelu, FusedConv, QuickGelu, SkipLayerNormalization and
/// SkipSimplifiedLayerNormalization of domain com.microsoft. Moves FusedMatMul to domain `mpm.internal`: a
/// later pass expands it, because shapes are not known yet. Other operators of com.microsoft fail at
/// evaluation. Sorts the graph.
void expandOptimised(Graph& graph);

/// If a SequenceAt reads a SplitToSequence or SequenceConstruct, replaces the SequenceAt with a slice, a
/// gather or the tensor itself. If a ConcatFromSequence reads a SequenceConstruct, replaces the
/// ConcatFromSequence with a Concat. Other sequences fail at evaluation. Sorts the graph.
void resolveSequences(Graph& graph);

}  // namespace mpm::models
