// Reads the fuzz input as a model with cv::dnn and the layers of mpm, and runs a forward pass.
//
// OpenCV's importer trusts the file: it reads as many weights as a tensor's dimensions require, even if the
// file has fewer, and divides by a stride of 0. To avoid these faults of OpenCV, the model is corrected
// before it is read: tensors get as many bytes as their shape needs, and attributes of standard operators get
// values that exporters write. Nodes of the domain mpm are not changed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include <mpm/mpm.hpp>

#include "base/checked.hpp"

namespace {

/// The largest number of elements of an input. Larger valid inputs would only take time.
constexpr std::int64_t kMostInput = 1 << 20;

std::size_t bytesOf(int type) {
    switch (type) {
        case onnx::TensorProto::FLOAT:
        case onnx::TensorProto::INT32:
            return 4;
        case onnx::TensorProto::INT64:
            return 8;
        default:
            return 0;
    }
}

/// Corrects a tensor. Returns false if no exporter writes such a tensor.
bool putInOrder(onnx::TensorProto& tensor) {
    std::int64_t count = 1;
    for (std::int64_t& dim : *tensor.mutable_dims())
        if (dim < 0 || !mpm::productFits(count, count, dim) || count > (1 << 24)) return false;
    const std::size_t size = bytesOf(tensor.data_type());
    if (size == 0) return false;
    tensor.clear_data_location();
    tensor.clear_external_data();
    const bool typed = tensor.float_data_size() == count || tensor.int64_data_size() == count ||
                       tensor.int32_data_size() == count;
    if (typed && !tensor.has_raw_data() && count > 0) {
        // The number of values must fit the shape, in the field of the tensor's type.
        const int own = tensor.data_type() == onnx::TensorProto::FLOAT   ? tensor.float_data_size()
                        : tensor.data_type() == onnx::TensorProto::INT64 ? tensor.int64_data_size()
                                                                         : tensor.int32_data_size();
        if (own == count) return true;
    }
    tensor.clear_float_data();
    tensor.clear_int64_data();
    tensor.clear_int32_data();
    tensor.mutable_raw_data()->resize(static_cast<std::size_t>(count) * size);
    return true;
}

/// Returns whether an exporter may write these values of strides, axes or pads.
bool isHonest(const onnx::AttributeProto& attribute) {
    constexpr std::int64_t kLargest = 4096;
    const auto within = [](std::int64_t value) { return value >= -kLargest && value <= kLargest; };
    const auto positive = [](std::int64_t value) { return value >= 1 && value <= kLargest; };
    const std::string& name = attribute.name();
    const bool size = name == "strides" || name == "dilations" || name == "kernel_shape" || name == "group";
    return attribute.graphs_size() == 0 && !attribute.has_g() && within(attribute.i()) &&
           (!size || attribute.ints_size() > 0 || positive(attribute.i())) &&
           std::all_of(attribute.ints().begin(), attribute.ints().end(), size ? positive : +within);
}

bool putInOrder(onnx::NodeProto& node) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_t() && !putInOrder(*attribute.mutable_t())) return false;
        if (attribute.graphs_size() > 0 || attribute.has_g() || attribute.tensors_size() > 0) return false;
        if (node.domain() != "mpm" && !isHonest(attribute)) return false;
    }
    return true;
}

bool putInOrder(onnx::ModelProto& model) {
    onnx::GraphProto& graph = *model.mutable_graph();
    for (onnx::TensorProto& tensor : *graph.mutable_initializer())
        if (!putInOrder(tensor)) return false;
    for (onnx::NodeProto& node : *graph.mutable_node())
        if (!putInOrder(node)) return false;
    return true;
}

/// Returns a blob for an input, with small numbers for dynamic dimensions; empty if the blob would be large.
cv::Mat blobFor(const onnx::ValueInfoProto& input) {
    std::vector<int> dims;
    std::int64_t count = 1;
    const onnx::TensorShapeProto& shape = input.type().tensor_type().shape();
    for (int i = 0; i < shape.dim_size(); ++i) {
        const std::int64_t given = shape.dim(i).dim_value();
        const std::int64_t size = given > 0 ? given : i < 2 ? 1 : 128;
        if (!mpm::productFits(count, count, size) || count > kMostInput) return {};
        dims.push_back(static_cast<int>(size));
    }
    if (dims.empty()) return {};
    cv::Mat blob(static_cast<int>(dims.size()), dims.data(), CV_32F);
    cv::RNG(7).fill(blob, cv::RNG::UNIFORM, -1, 1);
    return blob;
}

// Turns off OpenCV's log, because the importer writes a line for each unknown node.
const bool g_quiet = [] {
    setenv("OPENCV_LOG_LEVEL", "SILENT", 1);
    return true;
}();

void run(const onnx::ModelProto& model) {
    const std::string bytes = model.SerializeAsString();
    cv::dnn::Net net = cv::dnn::readNetFromONNX(bytes.data(), bytes.size());
    for (const onnx::ValueInfoProto& input : model.graph().input()) {
        const auto constant = [&](const onnx::TensorProto& t) { return t.name() == input.name(); };
        const auto& weights = model.graph().initializer();
        if (std::any_of(weights.begin(), weights.end(), constant)) continue;
        const cv::Mat blob = blobFor(input);
        if (blob.empty()) return;
        net.setInput(blob, input.name());
    }
    std::vector<cv::Mat> outputs;
    try {
        mpm::Encoder encoder = mpm::encoder(net);
        encoder.setDevice(mpm::Device::Cpu);
        static_cast<void>(encoder.schedule());
    } catch (const cv::Exception&) {
        // A model without an encoder may have other layers of mpm.
    }
    net.forward(outputs, net.getUnconnectedOutLayersNames());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    mpm::registerLayers();
    onnx::ModelProto model;
    if (!g_quiet || !model.ParseFromArray(data, static_cast<int>(size)) || !putInOrder(model)) return 0;
    try {
        run(model);
    } catch (const cv::Exception&) {
        // Rejected.
    }
    return 0;
}
