// Errors in files of weights.
#pragma once

#include <cstdint>
#include <new>
#include <sstream>
#include <string>
#include <string_view>

#include <opencv2/core.hpp>

#include "base/printable.hpp"
#include "base/read_file.hpp"

namespace mpm::models {

/// A file that cannot be used. The message is a single line. After this error, mpm-models exits
/// with status 3.
class FileError : public cv::Exception {
public:
    explicit FileError(const std::string& message)
        : cv::Exception(cv::Error::StsParseError, message, "", __FILE__, __LINE__) {}
};

/// Shortens a name that comes from a file, and makes the name safe to print.
inline std::string nameOf(std::string_view name) {
    return printable(name, 100);
}

/// If `good` is false, throws FileError with the parts as the message.
template <class... Parts>
void demand(bool good, const Parts&... parts) {
    if (good) return;
    std::ostringstream message;
    message.imbue(std::locale::classic());
    (message << ... << parts);
    throw FileError(message.str());
}

/// Reads a regular file of at most `limit` bytes and returns use(bytes). Throws FileError; the message is a
/// single line that begins with the path.
template <class Use>
auto fromFile(const std::string& path, std::uint64_t limit, const Use& use) {
    std::string bytes;
    try {
        bytes = readRegularFile(path, limit);
    } catch (const cv::Exception& problem) {  // the message names the path
        throw FileError(problem.err);
    }
    try {
        return use(bytes);
    } catch (const cv::Exception& problem) {
        throw FileError(printable(path) + ": " + printable(problem.err));
    }
}

}  // namespace mpm::models
