#include "models/onnx/io/read_tensor.hpp"

#include <string>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"

namespace mpm::models {

// Reads the defaults from the message's bytes, because the classes of ONNX 1.12 have no member for them.
void readDefaults(const onnx::FunctionProto& function, onnx::NodeProto& defaults, Held& held) {
    using google::protobuf::internal::WireFormatLite;
    constexpr int kDefaults = 11;
    const Held copy(checkedCast<int64_t>(function.ByteSizeLong()), "a function");
    const std::string bytes = function.SerializeAsString();
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                  checkedCast<int>(bytes.size()));
    while (const uint32_t tag = stream.ReadTag()) {
        std::string attribute;
        bool valid;
        if (tag == WireFormatLite::MakeTag(kDefaults, WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) {
            valid = WireFormatLite::ReadBytes(&stream, &attribute);
            held.add(checkedSum<int64_t>(attribute.size(), attribute.size(), 400), "the graph");
            valid = valid && defaults.add_attribute()->ParseFromString(attribute);
        } else {
            valid = WireFormatLite::SkipField(&stream, tag);
        }
        if (!valid) throw Refusal("not an ONNX model, or a damaged one");
    }
}

}  // namespace mpm::models
