#include "models/onnx/io/read_tensor.hpp"

#include <climits>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "base/checked.hpp"
#include "models/onnx/ir/job.hpp"
#include "models/onnx/ir/list.hpp"

namespace mpm::models {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Upper bounds on the memory of an ONNX message, string or number, in bytes, with the allocator's overhead.
constexpr int64_t kMessageBytes = 400, kStringBytes = 80, kNumberBytes = 24;

[[noreturn]] void refuse() {
    throw Refusal("not an ONNX model, or a damaged or truncated one");
}

// The message types of onnx.proto. They are listed here because an ONNX library may be built without
// descriptors.
enum Message {
    kModel,
    kGraph,
    kNode,
    kAttribute,
    kTensor,
    kSparseTensor,
    kValueInfo,
    kType,
    kTensorType,
    kElementType,  // of a sequence or an optional value
    kMapType,
    kShape,
    kAnnotation,
    kTraining,
    kFunction,
    kNodeDevices,
    kSharding,
    kShardedDimension,
    kIndexGroup,
    kFlat,    // contains no messages: names, segments, dimensions, devices
    kNumber,  // packed numbers of variable length
    kText     // text, bytes, numbers of fixed length, unknown fields
};

struct Field {
    Message of;
    int number;
    Message holds;
};

constexpr Field kFields[] = {
    {kModel, 7, kGraph},
    {kModel, 8, kFlat},
    {kModel, 14, kFlat},
    {kModel, 20, kTraining},
    {kModel, 25, kFunction},
    {kModel, 26, kFlat},
    {kGraph, 1, kNode},
    {kGraph, 5, kTensor},
    {kGraph, 11, kValueInfo},
    {kGraph, 12, kValueInfo},
    {kGraph, 13, kValueInfo},
    {kGraph, 14, kAnnotation},
    {kGraph, 15, kSparseTensor},
    {kGraph, 16, kFlat},
    {kNode, 5, kAttribute},
    {kNode, 9, kFlat},
    {kNode, 10, kNodeDevices},
    {kAttribute, 5, kTensor},
    {kAttribute, 6, kGraph},
    {kAttribute, 8, kNumber},
    {kAttribute, 10, kTensor},
    {kAttribute, 11, kGraph},
    {kAttribute, 14, kType},
    {kAttribute, 15, kType},
    {kAttribute, 22, kSparseTensor},
    {kAttribute, 23, kSparseTensor},
    {kTensor, 1, kNumber},
    {kTensor, 3, kFlat},
    {kTensor, 5, kNumber},
    {kTensor, 7, kNumber},
    {kTensor, 11, kNumber},
    {kTensor, 13, kFlat},
    {kTensor, 16, kFlat},
    {kSparseTensor, 1, kTensor},
    {kSparseTensor, 2, kTensor},
    {kSparseTensor, 3, kNumber},
    {kValueInfo, 2, kType},
    {kValueInfo, 4, kFlat},
    {kType, 1, kTensorType},
    {kType, 4, kElementType},
    {kType, 5, kMapType},
    {kType, 7, kFlat},
    {kType, 8, kTensorType},
    {kType, 9, kElementType},
    {kTensorType, 2, kShape},
    {kElementType, 1, kType},
    {kMapType, 2, kType},
    {kShape, 1, kFlat},
    {kAnnotation, 2, kFlat},
    {kTraining, 1, kGraph},
    {kTraining, 2, kGraph},
    {kTraining, 3, kFlat},
    {kTraining, 4, kFlat},
    {kFunction, 7, kNode},
    {kFunction, 9, kFlat},
    {kFunction, 11, kAttribute},
    {kFunction, 12, kValueInfo},
    {kFunction, 14, kFlat},
    {kNodeDevices, 2, kSharding},
    {kSharding, 2, kNumber},
    {kSharding, 3, kIndexGroup},
    {kSharding, 4, kShardedDimension},
    {kIndexGroup, 2, kNumber},
    {kShardedDimension, 2, kFlat},
};

Message contentOf(Message message, int field) {
    for (const Field& f : kFields)
        if (f.of == message && f.number == field) return f.holds;
    return kText;
}

class Counter {
public:
    explicit Counter(CodedInputStream& stream) : m_stream(stream) {}

    int64_t run() {
        message(kModel, 0);
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

    void message(Message type, int depth) {
        if (depth > kDeepestMessage) refuse();
        add(kMessageBytes);
        while (const uint32_t tag = m_stream.ReadTag()) {
            if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
                bytes(contentOf(type, WireFormatLite::GetTagFieldNumber(tag)), depth);
            } else {
                add(kNumberBytes);
                if (!WireFormatLite::SkipField(&m_stream, tag)) refuse();
            }
        }
    }

    void bytes(Message content, int depth) {
        uint32_t length = 0;
        if (!m_stream.ReadVarint32(&length) || length > INT_MAX) refuse();
        if (content < kNumber) {
            const auto limit = m_stream.PushLimit(static_cast<int>(length));
            message(content, depth + 1);
            if (!m_stream.ConsumedEntireMessage() || m_stream.BytesUntilLimit() != 0) refuse();
            m_stream.PopLimit(limit);
            return;
        }
        // A number of 1 byte in the file takes up to 8 bytes in memory.
        const int64_t growth = content == kNumber ? 8 : 1;
        add(checkedSum<int64_t>(kStringBytes, checkedProduct<int64_t>(length, growth)));
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
