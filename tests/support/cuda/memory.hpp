// Memory of the emulated device: host memory that is filled with NaN and surrounded by pages without access,
// so that accesses beyond an allocation are found.
#pragma once

#include <cstddef>

namespace emulated {

/// Allocates device memory. Returns null if no memory is left.
void* takeMemory(size_t bytes);
/// Frees device memory. Returns false if no allocation begins at `memory`.
bool giveMemory(void* memory);
/// Returns whether [address, address + bytes) is inside a single allocation.
bool isOnDevice(const void* address, size_t bytes);

/// Counts a call of a function of the runtime. Returns true if mpm_emulated_refuse() chose it to fail.
bool isRefused(const char* function);

}  // namespace emulated
