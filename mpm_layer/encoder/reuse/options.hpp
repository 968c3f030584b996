// The options of reuse: their ranges, and their form as text.
#pragma once

#include <optional>
#include <string>

#include <mpm/mpm.hpp>

namespace mpm {

/// Throws with the name of a value that is out of its range.
void checkReuse(const Reuse& reuse);

bool sameReuse(const Reuse& a, const Reuse& b);

/// "on", "off", or values separated by commas ("refresh=30,full=0.25"); the others keep their defaults.
std::optional<Reuse> reuseFrom(const std::string& text);

}  // namespace mpm
