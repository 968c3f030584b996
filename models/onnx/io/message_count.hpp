// What a model's message takes in memory, before memory is asked for it: two bytes of a file can be an object
// of 300.
#pragma once

#include <cstdint>

namespace google::protobuf::io {
class ZeroCopyInputStream;
}

namespace mpm::models {

constexpr int kDeepestMessage = 64;  // messages in messages

/// An upper bound of the bytes that the parsed ModelProto takes, its file's own bytes included. Reads the
/// stream once and keeps nothing. Throws Refusal on bytes that are no message.
std::int64_t bytesOfModel(google::protobuf::io::ZeroCopyInputStream& stream);

}  // namespace mpm::models
