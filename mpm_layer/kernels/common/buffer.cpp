#include "mpm_layer/kernels/common/buffer.hpp"

#include <atomic>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace mpm::kernels {
namespace {

std::atomic<size_t> g_allocations{0};

constexpr size_t kLargePage = size_t{2} << 20;
constexpr size_t kMostFloats = size_t{1} << 60;

// With AddressSanitizer, each block is allocated separately, so that the sanitizer finds reads beyond a
// block.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kShareRegions = false;
#else
constexpr bool kShareRegions = true;
#endif

float* allocate(size_t alignment, size_t bytes) {
    void* const block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!block) throw std::bad_alloc();
    return static_cast<float*>(block);
}

/// Allocates a block and asks the system for as many large pages as fit completely into the block.
float* allocateLarge(size_t bytes) {
    float* const block = allocate(kLargePage, bytes);
#ifdef MADV_HUGEPAGE
    madvise(block, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
    return block;
}

// Takes memory from the system. A forward pass reads all weights, and each page needs an address translation.
// So blocks of kLeast bytes or more are in large pages. Among these blocks, those that are smaller than a
// large page share regions. A region is freed when its last block is freed.
class Regions {
public:
    float* take(size_t bytes) {
        if (!shared(bytes)) return bytes < kLargePage ? allocate(kAlignment, bytes) : allocateLarge(bytes);
        if (bytes > m_left) open();
        float* const block = m_next;
        m_next += bytes / sizeof(float);
        m_left -= bytes;
        ++m_users[m_region];
        return block;
    }

    void give(float* block, size_t bytes) {
        if (shared(bytes)) {
            drop(std::prev(m_users.upper_bound(block))->first);
        } else {
            std::free(block);
        }
    }

private:
    static constexpr size_t kLeast = size_t{64} << 10, kRegion = 8 * kLargePage;

    static bool shared(size_t bytes) { return kShareRegions && bytes >= kLeast && bytes < kLargePage; }

    // Drops the old region only after the allocation. If the allocation throws, the old region stays in use.
    void open() {
        float* const region = allocateLarge(kRegion);
        m_users[region] = 1;
        drop(m_region);
        m_region = m_next = region;
        m_left = kRegion;
    }

    void drop(float* region) {
        const auto found = m_users.find(region);
        if (found == m_users.end() || --found->second > 0) return;
        std::free(region);
        m_users.erase(found);
    }

    std::map<float*, int> m_users;  // number of blocks in each region, plus 1 for the current region
    float* m_region = nullptr;
    float* m_next = nullptr;
    size_t m_left = 0;
};

// Keeps the blocks that are not in use, sorted by size.
class Pool {
public:
    // The pool is never destroyed, because threads that end during exit() still return buffers to the pool.
    static Pool& instance() {
        static Pool* const pool = new Pool;
        return *pool;
    }

    /// Returns a block of at least `bytes`, and sets `bytes` to the size of the block.
    float* take(size_t& bytes) {
        const std::lock_guard<std::mutex> lock(m_guard);
        const auto found = m_free.lower_bound(bytes);
        if (found == m_free.end() || found->first > 2 * bytes + kSmall) {
            float* const block = m_regions.take(bytes);
            g_allocations.fetch_add(1, std::memory_order_relaxed);
            return block;
        }
        float* block = found->second;
        bytes = found->first;
        m_idle -= bytes;
        m_free.erase(found);
        return block;
    }

    void give(float* block, size_t bytes) {
        const std::lock_guard<std::mutex> lock(m_guard);
        try {
            m_free.emplace(bytes, block);
        } catch (const std::bad_alloc&) {  // destructors call give(), so it must not throw
            m_regions.give(block, bytes);
            return;
        }
        m_idle += bytes;
        while (m_idle > kMostIdle) {
            const auto largest = std::prev(m_free.end());
            m_idle -= largest->first;
            m_regions.give(largest->second, largest->first);
            m_free.erase(largest);
        }
    }

private:
    static constexpr size_t kSmall = 1 << 16;
    static constexpr size_t kMostIdle = size_t{512} << 20;

    std::mutex m_guard;
    Regions m_regions;
    std::multimap<size_t, float*> m_free;
    size_t m_idle = 0;
};

}  // namespace

float* Buffer::reserve(size_t count) {
    // Although `count` fits in 64 bits, the number of bytes could overflow.
    if (count > kMostFloats) throw std::bad_alloc();
    size_t bytes = (count * sizeof(float) + 2 * kAlignment - 1) / kAlignment * kAlignment;
    if (bytes <= m_bytes) return m_data;
    release();
    m_data = Pool::instance().take(bytes);
    m_bytes = bytes;
    return m_data;
}

void Buffer::release() {
    if (m_data) Pool::instance().give(m_data, m_bytes);
    m_data = nullptr;
    m_bytes = 0;
}

size_t systemAllocations() {
    return g_allocations.load(std::memory_order_relaxed);
}

}  // namespace mpm::kernels
