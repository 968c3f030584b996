#include "models/onnx/io/message_count.hpp"

#include <climits>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <onnx/onnx_pb.h>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/list.hpp"

namespace mpm::models {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// More than any of ONNX's messages needs, with the overhead of the allocator.
constexpr int64_t kMessageBytes = 400, kStringBytes = 80, kNumberBytes = 24;

[[noreturn]] void refuse() {
    throw Refusal("not an ONNX model, or a damaged or truncated one");
}

class Counter {
public:
    explicit Counter(CodedInputStream& stream) : m_stream(stream) {}

    int64_t run() {
        message(onnx::ModelProto::descriptor(), 0);
        if (!m_stream.ConsumedEntireMessage()) refuse();
        return m_bytes;
    }

private:
    void add(int64_t bytes) {
        m_bytes = checkedSum<int64_t>(m_bytes, bytes);
        if (++m_fields % 65536 != 0) return;
        checkTime();
        checkRoom(m_bytes, "the model");
    }

    void message(const Descriptor* type, int depth) {
        if (depth > kDeepestMessage) refuse();
        add(kMessageBytes);
        while (const uint32_t tag = m_stream.ReadTag()) {
            const FieldDescriptor* field = type->FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
            if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
                bytes(field, depth);
            } else {
                add(kNumberBytes);
                if (!WireFormatLite::SkipField(&m_stream, tag)) refuse();
            }
        }
    }

    void bytes(const FieldDescriptor* field, int depth) {
        uint32_t length = 0;
        if (!m_stream.ReadVarint32(&length) || length > INT_MAX) refuse();
        if (field && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
            const auto limit = m_stream.PushLimit(static_cast<int>(length));
            message(field->message_type(), depth + 1);
            if (!m_stream.ConsumedEntireMessage() || m_stream.BytesUntilLimit() != 0) refuse();
            m_stream.PopLimit(limit);
            return;
        }
        // A number of one byte becomes eight.
        const bool text = !field || field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
        const bool fixed = field && (field->type() == FieldDescriptor::TYPE_FLOAT ||
                                     field->type() == FieldDescriptor::TYPE_DOUBLE);
        add(checkedSum<int64_t>(kStringBytes, checkedProduct<int64_t>(length, text || fixed ? 1 : 8)));
        if (!m_stream.Skip(static_cast<int>(length))) refuse();
    }

    CodedInputStream& m_stream;
    int64_t m_bytes = 0, m_fields = 0;
};

}  // namespace

int64_t bytesOfModel(google::protobuf::io::ZeroCopyInputStream& stream) {
    CodedInputStream coded(&stream);
    coded.SetTotalBytesLimit(INT_MAX);
    coded.SetRecursionLimit(kDeepestMessage);
    return Counter(coded).run();
}

}  // namespace mpm::models
