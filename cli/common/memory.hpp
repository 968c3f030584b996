// --max-memory: how much memory a verb may take for models, images and results.
#pragma once

#include <cstdint>
#include <string>

namespace mpm::cli {

/// From here on larger images are rejected before they are decoded, and the process can grow by little more
/// than that. 0: the default for images, no other limit.
void limitMemory(std::int64_t bytes);

/// The message if memory ran out; names the limit if there is one.
std::string outOfMemory();

/// Whether a limit was set.
bool memoryIsLimited();

}  // namespace mpm::cli
