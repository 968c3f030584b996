// --max-memory: how much memory a verb may take for models, images and results.
#pragma once

#include <cstdint>
#include <string>

namespace mpm::cli {

/// From here on images of more are rejected before they are decoded, and the system gives this process little
/// more than that beyond what it has now. 0: the default for images, no limit else.
void limitMemory(std::int64_t bytes);

/// What to say where memory ran out: names the limit where there is one.
std::string outOfMemory();

/// Whether a limit was set.
bool memoryIsLimited();

}  // namespace mpm::cli
