// Memory of the emulated device: the host's, but filled with NaN, and surrounded by pages without access, so
// that reads and writes beyond an allocation are found.
#pragma once

#include <cstddef>

namespace emulated {

/// Null if there is no memory left.
void* takeMemory(size_t bytes);
/// False if no allocation begins there.
bool giveMemory(void* memory);
/// Whether all of [address, address + bytes) is in the same allocation.
bool isOnDevice(const void* address, size_t bytes);

/// The next `times` calls of this function of the runtime, after `skip` more, fail as they may on a GPU.
bool isRefused(const char* function);

}  // namespace emulated
