// The memory that a parsed model needs, known before it is parsed: two bytes of a file can become an object
// of 300.
#pragma once

#include <cstdint>

namespace google::protobuf::io {
class ZeroCopyInputStream;
}

namespace mpm::models {

constexpr int kDeepestMessage = 64;  // nesting of messages

/// An upper bound of the bytes of the parsed ModelProto, including those of the file. Reads the stream once.
/// Throws Refusal if the bytes are not a message.
std::int64_t bytesOfModel(google::protobuf::io::ZeroCopyInputStream& stream);

}  // namespace mpm::models
