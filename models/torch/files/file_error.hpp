// Errors in files of weights.
#pragma once

#include <sstream>
#include <string>
#include <string_view>

#include <opencv2/core.hpp>

#include "base/printable.hpp"

namespace mpm::models {

/// A file that cannot be used. The message is a single line; mpm-models exits with status 3.
class FileError : public cv::Exception {
public:
    explicit FileError(const std::string& message)
        : cv::Exception(cv::Error::StsParseError, message, "", __FILE__, __LINE__) {}
};

/// A name out of a file, short and safe to print.
inline std::string nameOf(std::string_view name) {
    return printable(name, 100);
}

/// Throws FileError with the parts as message unless `good`.
template <class... Parts>
void demand(bool good, const Parts&... parts) {
    if (good) return;
    std::ostringstream message;
    message.imbue(std::locale::classic());
    (message << ... << parts);
    throw FileError(message.str());
}

}  // namespace mpm::models
