// How a verb fails: an exit status and a line that names the fault, the place and the remedy.
#pragma once

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

}  // namespace mpm::cli
