#include "models/torch/files/pickle.hpp"

#include <algorithm>
#include <cstring>

#include <zlib.h>

#include "models/torch/files/file_error.hpp"

namespace mpm::models {
namespace {

constexpr std::uint64_t kMaxMembers = 200000;
constexpr std::uint64_t kInExtra = 0xFFFFFFFF;  // the number is in the extra field (archives beyond 4 GiB)

bool holds(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
    return at <= bytes.size() && size <= bytes.size() - at;
}

std::uint64_t little(std::string_view bytes, std::uint64_t at, std::uint64_t count) {
    demand(holds(bytes, at, count), "zip archive ends early");
    return littleEndian(bytes.substr(at, count));
}

bool begins(std::string_view bytes, std::uint64_t at, const char* signature) {
    return holds(bytes, at, 4) && std::memcmp(bytes.data() + at, signature, 4) == 0;
}

/// Finds the end record in the last 64 KiB; only a comment follows this record.
std::uint64_t findEnd(std::string_view bytes) {
    const std::size_t reach = std::min<std::size_t>(bytes.size(), 65557);
    for (std::size_t back = 22; back <= reach; ++back) {
        if (begins(bytes, bytes.size() - back, "PK\x05\x06")) return bytes.size() - back;
    }
    throw FileError("not a zip archive, or its end is missing");
}

struct Directory {
    std::uint64_t count, at;
};

Directory directoryOf(std::string_view bytes) {
    const std::uint64_t end = findEnd(bytes);
    Directory directory{little(bytes, end + 10, 2), little(bytes, end + 16, 4)};
    if ((directory.count == 0xFFFF || directory.at == kInExtra) && end >= 20 &&
        begins(bytes, end - 20, "PK\x06\x07")) {
        const std::uint64_t wide = little(bytes, end - 12, 8);
        demand(begins(bytes, wide, "PK\x06\x06"), "zip directory is damaged");
        directory = {little(bytes, wide + 32, 8), little(bytes, wide + 48, 8)};
    }
    demand(directory.count <= kMaxMembers, "zip archive has too many members");
    return directory;
}

std::string_view storedBytes(std::string_view bytes, std::uint64_t header, std::uint64_t size,
                             const std::string& name) {
    demand(holds(bytes, header, 30) && begins(bytes, header, "PK\x03\x04"), "zip member ", nameOf(name),
           " has no header");
    const std::uint64_t start = header + 30 + little(bytes, header + 26, 2) + little(bytes, header + 28, 2);
    demand(holds(bytes, start, size), "zip member ", nameOf(name), " reaches past the file's end");
    return bytes.substr(start, size);
}

/// Unpacked size, packed size and offset of a file in the archive, in bytes. The extra field contains values
/// of more than 32 bits, in this order.
struct Extent {
    std::uint64_t size, packed, header;
};

void widen(Extent& extent, std::string_view extra) {
    for (std::uint64_t at = 0; holds(extra, at, 4);) {
        const std::uint64_t kind = little(extra, at, 2), length = little(extra, at + 2, 2);
        if (kind == 1) {
            demand(holds(extra, at + 4, length), "zip directory is damaged");
            const std::string_view wide = extra.substr(at + 4, length);
            std::uint64_t from = 0;
            for (std::uint64_t* number : {&extent.size, &extent.packed, &extent.header}) {
                if (*number != kInExtra) continue;
                *number = little(wide, from, 8);
                from += 8;
            }
            return;
        }
        at += 4 + length;
    }
}

ZipMember memberAt(std::string_view bytes, std::uint64_t& at) {
    demand(holds(bytes, at, 46) && begins(bytes, at, "PK\x01\x02"), "zip directory is damaged");
    const std::uint64_t nameLength = little(bytes, at + 28, 2), extra = little(bytes, at + 30, 2),
                        comment = little(bytes, at + 32, 2);
    demand(holds(bytes, at + 46, nameLength + extra), "zip directory is damaged");
    const std::uint64_t flags = little(bytes, at + 8, 2), method = little(bytes, at + 10, 2);
    ZipMember member;
    member.name = std::string(bytes.substr(at + 46, nameLength));
    demand((flags & 1) == 0, "zip member ", nameOf(member.name), " is encrypted");
    demand(method == 0 || method == 8, "zip member ", nameOf(member.name), " is packed in an unknown way");
    Extent extent{little(bytes, at + 24, 4), little(bytes, at + 20, 4), little(bytes, at + 42, 4)};
    widen(extent, bytes.substr(at + 46 + nameLength, extra));
    member.deflated = method == 8;
    member.size = extent.size;
    member.stored = storedBytes(bytes, extent.header, extent.packed, member.name);
    demand(member.deflated || member.size == member.stored.size(), "zip member ", nameOf(member.name),
           " has two sizes");
    at += 46 + nameLength + extra + comment;
    return member;
}

/// Limits a number of bytes for a call to zlib, which counts in 32 bits.
uInt part(std::uint64_t count) {
    return static_cast<uInt>(std::min<std::uint64_t>(count, 1U << 30));
}

/// Unpacks to `out`; returns whether the packed bytes fill `out` exactly.
bool inflateTo(std::string& out, std::string_view packed) {
    z_stream stream{};
    demand(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "zlib cannot start");
    std::uint64_t read = 0, written = 0;
    int status = Z_OK;
    while (status == Z_OK) {
        const uInt in = part(packed.size() - read), room = part(out.size() - written);
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));
        stream.avail_in = in;
        stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
        stream.avail_out = room;
        status = inflate(&stream, Z_NO_FLUSH);
        read += in - stream.avail_in;
        written += room - stream.avail_out;
        if (in == stream.avail_in && room == stream.avail_out) break;  // no progress
    }
    inflateEnd(&stream);
    return status == Z_STREAM_END && written == out.size();
}

}  // namespace

std::vector<ZipMember> listZip(std::string_view bytes) {
    Directory directory = directoryOf(bytes);
    std::vector<ZipMember> members;
    for (std::uint64_t i = 0; i < directory.count; ++i)
        members.push_back(memberAt(bytes, directory.at));
    return members;
}

std::string unpack(const ZipMember& member, std::uint64_t limit) {
    demand(member.size <= limit, "zip member ", nameOf(member.name), " is larger than allowed");
    if (!member.deflated) return std::string(member.stored);
    // A byte of deflate gives at most 1032 bytes, so a larger size cannot be true.
    demand(member.size / 1100 <= member.stored.size(), "zip member ", nameOf(member.name),
           " claims an impossible size");
    std::string out(member.size, '\0');
    demand(inflateTo(out, member.stored), "zip member ", nameOf(member.name), " is damaged");
    return out;
}

}  // namespace mpm::models
