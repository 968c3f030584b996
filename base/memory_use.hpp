// The memory that the process uses.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace mpm {

struct MemoryUse {
    std::int64_t addressSpace = 0, resident = 0;  ///< bytes; 0 if unknown
};

inline MemoryUse memoryUse() {
    MemoryUse use;
    std::ifstream("/proc/self/statm") >> use.addressSpace >> use.resident;
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    use.addressSpace *= page;
    use.resident *= page;
    return use;
}

}  // namespace mpm
