// The members of a zip archive, as stored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mpm::models {

struct ZipMember {
    std::string name;
    std::string_view stored;  ///< as it is in the archive
    bool deflated = false;
    std::uint64_t size = 0;  ///< unpacked
};

/// Throws FileError on an archive that is damaged, encrypted or packed by anything but deflate.
std::vector<ZipMember> listZip(std::string_view bytes);

/// The member's content; deflated members are unpacked, at most `limit` bytes.
std::string unpack(const ZipMember& member, std::uint64_t limit);

}  // namespace mpm::models
