// The options of reuse and their ranges; reuseFrom() of the public header reads them from text.
#pragma once

#include <mpm/mpm.hpp>

namespace mpm {

/// Throws with the name of a value that is out of its range.
void checkReuse(const Reuse& reuse);

bool sameReuse(const Reuse& a, const Reuse& b);

}  // namespace mpm
