// Runs the threads of a kernel on a single thread of the CPU. Each thread of the kernel is a fiber, which
// runs until it ends, or must wait at a barrier or in an operation of the warp. A random generator with a
// fixed seed decides for each block whether threads run in ascending or descending order. So if a result
// depends on the order, blocks differ.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime.h>

namespace emulated {

constexpr int kWarp = 32;
constexpr unsigned kMostThreads = 1024;
constexpr size_t kMostSharedBytes = 227 * 1024;

/// Runs `thread` as every thread of every block. Returns an error that names block and thread, for example if
/// threads miss a common barrier or access memory outside of allocations; else an empty text.
std::string runGrid(dim3 grid, dim3 block, size_t sharedBytes, const std::function<void()>& thread);

/// Ends the kernel with an error that names the thread. Only functions that a kernel calls may call it.
[[noreturn]] void fail(const char* why, const char* detail = "");

/// The operands and the result of a lane in an operation of the warp.
struct Lane {
    alignas(16) unsigned char bytes[64];
};

/// Waits until every lane of the warp is in this operation. The lane that arrives last calls `together` (if
/// not null) with all lanes. The returned lanes are valid until the operation after the next.
const Lane* meetWarp(const char* operation, const void* own, size_t bytes,
                     void (*together)(Lane* lanes) = nullptr);

/// An asynchronous copy to shared memory for which the thread has not waited yet.
struct PendingCopy {
    void* to;
    const void* from;
    bool exists;
    int group;
};
struct PendingCopies {
    std::vector<PendingCopy> copies;
    int groups = 0;  ///< number of groups committed so far
};
PendingCopies& copiesOfThread();
/// Returns whether asynchronous copies of this block are done at once; otherwise, they are done when the
/// thread waits for them. On a GPU, both may happen.
bool copiesEarly();

/// Dynamic shared memory of the block. A page without access follows it.
unsigned char* sharedMemory();
/// Fails if [address, address + bytes) is not in dynamic shared memory or not aligned to 16 bytes.
void checkShared(const void* address, size_t bytes);

}  // namespace emulated
