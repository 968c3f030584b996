// How a verb fails: an exit status and a line that names the fault, the place and the remedy.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

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

/// From here on larger images are rejected before they are decoded, and the process can grow by little more
/// than that. 0: the default for images, no other limit.
void limitMemory(std::int64_t bytes);

/// The message if memory ran out; names the limit if there is one.
std::string outOfMemory();

/// Whether a limit was set.
bool memoryIsLimited();

}  // namespace mpm::cli
