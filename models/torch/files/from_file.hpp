// Reads a file; errors name the file.
#pragma once

#include <cstdint>
#include <new>
#include <string>

#include "base/printable.hpp"
#include "base/read_file.hpp"
#include "models/torch/files/file_error.hpp"

namespace mpm::models {

/// use(bytes) of a regular file of at most `limit` bytes. Throws FileError; the message is a single line that
/// begins with the path.
template <class Use>
auto fromFile(const std::string& path, std::uint64_t limit, const Use& use) {
    std::string bytes;
    try {
        bytes = readRegularFile(path, limit);
    } catch (const cv::Exception& problem) {  // which names the path
        throw FileError(problem.err);
    }
    try {
        return use(bytes);
    } catch (const cv::Exception& problem) {
        throw FileError(printable(path) + ": " + printable(problem.err));
    }
}

}  // namespace mpm::models
