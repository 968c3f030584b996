#include "support/cuda/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

namespace emulated {
namespace {

struct Allocation {
    unsigned char* pages;
    size_t pageBytes, bytes;
};

std::map<const unsigned char*, Allocation>& allocations() {
    static auto& all = *new std::map<const unsigned char*, Allocation>;
    return all;
}

struct Refusal {
    int skip = 0, times = 0;
};

std::map<std::string, Refusal>& refusals() {
    static auto& all = *new std::map<std::string, Refusal>;
    return all;
}

}  // namespace

// Places the end of the memory (rounded up to 16 bytes) at the end of a page, so that an access beyond the
// end fails.
void* takeMemory(size_t bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), whole = (bytes + 15) / 16 * 16;
    const size_t inner = (whole + page - 1) / page * page, pageBytes = inner + 2 * page;
    void* pages = mmap(nullptr, pageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return nullptr;
    auto* first = static_cast<unsigned char*>(pages);
    mprotect(first + page, inner, PROT_READ | PROT_WRITE);
    unsigned char* memory = first + page + inner - whole;
    std::memset(first + page, 0xff, inner);
    allocations()[memory] = {first, pageBytes, bytes};
    return memory;
}

bool giveMemory(void* memory) {
    const auto found = allocations().find(static_cast<unsigned char*>(memory));
    if (found == allocations().end()) return false;
    munmap(found->second.pages, found->second.pageBytes);
    allocations().erase(found);
    return true;
}

bool isOnDevice(const void* address, size_t bytes) {
    const auto* first = static_cast<const unsigned char*>(address);
    auto next = allocations().upper_bound(first);
    if (next == allocations().begin()) return false;
    --next;
    return first + bytes <= next->first + next->second.bytes;
}

bool isRefused(const char* function) {
    const auto found = refusals().find(function);
    if (found == refusals().end()) return false;
    Refusal& refusal = found->second;
    if (refusal.skip > 0) {
        --refusal.skip;
        return false;
    }
    return refusal.times > 0 && refusal.times-- > 0;
}

}  // namespace emulated

/// Chooses calls of a function that fail: `skip` calls succeed, then `times` calls fail. Tests find this
/// symbol in the library that they load.
extern "C" __attribute__((visibility("default"))) void mpm_emulated_refuse(const char* function, int skip,
                                                                           int times) {
    emulated::refusals()[function] = {skip, times};
}
