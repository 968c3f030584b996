#include <cstring>

#include <zlib.h>

#include "models/torch/files.hpp"

namespace mpm::models {
namespace {

constexpr size_t kMaxMembers = 200000;

uint64_t little(std::string_view bytes, size_t at, int count) {
    TORCH_CHECK(at + static_cast<size_t>(count) <= bytes.size(), "zip archive ends early");
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; --i)
        value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<size_t>(i)]);
    return value;
}

/// The end record lies within the last 64 KiB, behind it only a comment.
size_t findEnd(std::string_view bytes) {
    const size_t reach = std::min<size_t>(bytes.size(), 65557);
    for (size_t back = 22; back <= reach; ++back) {
        const size_t at = bytes.size() - back;
        if (std::memcmp(bytes.data() + at, "PK\x05\x06", 4) == 0) return at;
    }
    TORCH_CHECK(false, "not a zip archive, or its end is missing");
}

std::string_view storedBytes(std::string_view bytes, uint64_t header, uint64_t size,
                             const std::string& name) {
    TORCH_CHECK(header + 30 <= bytes.size() && std::memcmp(bytes.data() + header, "PK\x03\x04", 4) == 0,
                "zip member ", name, " has no header");
    const uint64_t start = header + 30 + little(bytes, header + 26, 2) + little(bytes, header + 28, 2);
    TORCH_CHECK(start <= bytes.size() && size <= bytes.size() - start, "zip member ", name,
                " reaches past the file's end");
    return bytes.substr(start, size);
}

}  // namespace

std::vector<ZipMember> listZip(std::string_view bytes) {
    const size_t end = findEnd(bytes);
    const uint64_t count = little(bytes, end + 10, 2);
    uint64_t at = little(bytes, end + 16, 4);
    TORCH_CHECK(count != 0xFFFF && at != 0xFFFFFFFF, "zip archives of more than 4 GiB are not supported");
    TORCH_CHECK(count <= kMaxMembers, "zip archive has too many members");
    std::vector<ZipMember> members;
    for (uint64_t i = 0; i < count; ++i) {
        TORCH_CHECK(at + 46 <= bytes.size() && std::memcmp(bytes.data() + at, "PK\x01\x02", 4) == 0,
                    "zip directory is damaged");
        const uint64_t nameLength = little(bytes, at + 28, 2), extra = little(bytes, at + 30, 2),
                       comment = little(bytes, at + 32, 2);
        TORCH_CHECK(at + 46 + nameLength <= bytes.size(), "zip directory is damaged");
        const uint64_t flags = little(bytes, at + 8, 2), method = little(bytes, at + 10, 2);
        ZipMember member;
        member.name = std::string(bytes.substr(at + 46, nameLength));
        TORCH_CHECK((flags & 1) == 0, "zip member ", member.name, " is encrypted");
        TORCH_CHECK(method == 0 || method == 8, "zip member ", member.name, " is packed in an unknown way");
        member.deflated = method == 8;
        member.size = little(bytes, at + 24, 4);
        member.stored = storedBytes(bytes, little(bytes, at + 42, 4), little(bytes, at + 20, 4), member.name);
        TORCH_CHECK(member.deflated || member.size == member.stored.size(), "zip member ", member.name,
                    " has two sizes");
        members.push_back(std::move(member));
        at += 46 + nameLength + extra + comment;
    }
    return members;
}

std::string unpack(const ZipMember& member, uint64_t limit) {
    TORCH_CHECK(member.size <= limit, "zip member ", member.name, " is larger than allowed");
    if (!member.deflated) return std::string(member.stored);
    // Deflate cannot pack tighter than about 1 : 1032; more is a lie about the size.
    TORCH_CHECK(member.size / 1100 <= member.stored.size(), "zip member ", member.name,
                " claims an impossible size");
    std::string out(member.size, '\0');
    z_stream stream{};
    TORCH_CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "zlib cannot start");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(member.stored.data()));
    stream.avail_in = static_cast<uInt>(member.stored.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int status = inflate(&stream, Z_FINISH);
    const bool whole = status == Z_STREAM_END && stream.total_out == member.size;
    inflateEnd(&stream);
    TORCH_CHECK(whole, "zip member ", member.name, " is damaged");
    return out;
}

}  // namespace mpm::models
