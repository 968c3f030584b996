// The threads of a kernel on a single thread of the CPU: each is a fiber, which runs until it meets others at
// a barrier, in an operation of the warp, or at the kernel's end. A generator chooses for each block whether
// the threads run forwards or backwards: results that depend on the order differ, and every run is the same.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime.h>

namespace emulated {

constexpr int kWarp = 32;
constexpr unsigned kMostThreads = 1024;
constexpr size_t kMostSharedBytes = 227 * 1024;

/// Runs `thread` as every thread of every block. Empty, or an error that names block and thread: threads that
/// miss a common barrier, or accesses to memory of others.
std::string runGrid(dim3 grid, dim3 block, size_t sharedBytes, const std::function<void()>& thread);

/// Ends the kernel with an error, the thread's name before it. For functions that a kernel calls.
[[noreturn]] void fail(const char* why, const char* detail = "");

/// A lane's part in an operation of the warp: room for the operands and the result.
struct Lane {
    alignas(16) unsigned char bytes[64];
};

/// Waits until every lane of the warp is in this operation; the last to come runs `together`, which may be
/// null, on all of them. The lanes stay as they are until the operation after the next.
const Lane* meetWarp(const char* operation, const void* own, size_t bytes,
                     void (*together)(Lane* lanes) = nullptr);

/// A copy to shared memory that a thread has started and not waited for.
struct PendingCopy {
    void* to;
    const void* from;
    bool exists;
    int group;
};
struct PendingCopies {
    std::vector<PendingCopy> copies;
    int groups = 0;  ///< closed so far
};
PendingCopies& copiesOfThread();
/// Whether copies of this block arrive at once, or not before a wait for them. Both may happen on a GPU.
bool copiesEarly();

/// Dynamic shared memory of the block. A page without access follows it.
unsigned char* sharedMemory();
/// Fails unless [address, address + bytes) is in dynamic shared memory, on a multiple of 16 bytes.
void checkShared(const void* address, size_t bytes);

}  // namespace emulated
