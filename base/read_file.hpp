// Reads a whole file that is not trusted.
#pragma once

#include <cstdint>
#include <string>

namespace mpm {

/// The bytes of a regular file of at most `limit` bytes. A pipe or a device is rejected without waiting for
/// it. Throws cv::Exception that names the path and the reason.
std::string readRegularFile(const std::string& path, std::uint64_t limit);

}  // namespace mpm
