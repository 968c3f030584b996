// The failure of a verb: an exit status, and a line that names the fault, the place and the remedy.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <opencv2/core.hpp>

namespace mpm::cli {

enum Exit : int {
    kDone = 0,
    kFailed = 1,    ///< failed while running
    kWrongUse = 2,  ///< wrong usage
    kBadInput = 3,  ///< unusable input: missing, damaged, not a model, a model without a ViT encoder
};

class Error : public std::runtime_error {
public:
    Error(Exit status, const std::string& line) : std::runtime_error(line), m_status(status) {}
    Exit status() const { return m_status; }

private:
    Exit m_status;
};

/// Returns the result of `work`. Turns an exception of type E into an Error with the same message after
/// `prefix`.
template <class E, class Work>
auto orError(Exit status, const std::string& prefix, const Work& work) {
    try {
        return work();
    } catch (const E& error) {
        if constexpr (std::is_same_v<E, cv::Exception>)
            throw Error(status, prefix + error.err);
        else
            throw Error(status, prefix + error.what());
    }
}

/// Limits memory after this call: images that need more than `bytes` are rejected before decoding, and the
/// process may grow by `bytes` plus 256 MiB. If `bytes` is 0, only images have a limit, the default.
void limitMemory(std::int64_t bytes);

/// Returns the message for an allocation that failed. The message names the limit of limitMemory(), if set.
std::string outOfMemory();

bool memoryIsLimited();

}  // namespace mpm::cli
