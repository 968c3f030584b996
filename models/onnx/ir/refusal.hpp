// The converter's error about the model.
#pragma once

#include <stdexcept>

namespace mpm::models {

/// A model that cannot be read, understood or converted. The message is a single line: the cause, the place,
/// the remedy.
class Refusal : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace mpm::models
