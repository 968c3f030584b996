// The heap of a program that runs for weeks.
#pragma once

#include <malloc.h>

namespace mpm {

/// Call it before there are threads. glibc gives each thread a heap of its own, and raises the size from
/// which a buffer is returned to the system: images that one thread allocates and another frees leave holes
/// in these heaps, and a monitor of three sources grew by 4 MiB a minute.
inline void useOneHeap() {
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}

}  // namespace mpm
