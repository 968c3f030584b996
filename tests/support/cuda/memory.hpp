// Memory of the emulated device: host memory that is filled with NaN and surrounded by pages without access,
// so that accesses beyond an allocation are found.
#pragma once

#include <cstddef>

namespace emulated {

/// Allocates device memory. Returns null if no memory is left.
void* takeMemory(size_t bytes);
/// Frees device memory. Returns false if no allocation begins at `memory`.
bool giveMemory(void* memory);
/// Whether [address, address + bytes) is inside a single allocation.
bool isOnDevice(const void* address, size_t bytes);

/// For each function of the runtime: after `skip` calls that succeed, `times` calls fail.
bool isRefused(const char* function);

}  // namespace emulated
