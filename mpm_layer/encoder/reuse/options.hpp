// The options of reuse and their ranges; reuseFrom() of the public headers reads them from text.
#pragma once

#include <mpm/mpm.hpp>

namespace mpm {

/// Throws with the name of a value that is out of its range.
void checkReuse(const Reuse& reuse);

/// Of a model file: values, as in reuseFrom(), but neither on nor off. Throws on anything else.
Reuse reuseOfFile(const std::string& text);

bool sameReuse(const Reuse& a, const Reuse& b);

}  // namespace mpm
