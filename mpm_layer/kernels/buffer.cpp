#include "mpm_layer/kernels/buffer.hpp"

#include <atomic>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <new>

namespace mpm::kernels {
namespace {

std::atomic<size_t> g_allocations{0};

// Blocks that nobody uses at the moment, by size.
class Pool {
public:
    // Never destroyed: buffers of threads that end late still come back to it.
    static Pool& instance() {
        static Pool* const pool = new Pool;
        return *pool;
    }

    /// A block of at least `bytes`, which becomes its true size; null where none fits well.
    float* take(size_t& bytes) {
        const std::lock_guard<std::mutex> lock(m_guard);
        const auto found = m_free.lower_bound(bytes);
        if (found == m_free.end() || found->first > 2 * bytes + kSmall) return nullptr;
        float* block = found->second;
        bytes = found->first;
        m_idle -= bytes;
        m_free.erase(found);
        return block;
    }

    void give(float* block, size_t bytes) {
        const std::lock_guard<std::mutex> lock(m_guard);
        m_free.emplace(bytes, block);
        m_idle += bytes;
        while (m_idle > kMostIdle) {
            const auto largest = std::prev(m_free.end());
            m_idle -= largest->first;
            std::free(largest->second);
            m_free.erase(largest);
        }
    }

private:
    static constexpr size_t kSmall = 1 << 16;
    static constexpr size_t kMostIdle = size_t{512} << 20;

    std::mutex m_guard;
    std::multimap<size_t, float*> m_free;
    size_t m_idle = 0;
};

}  // namespace

float* Buffer::reserve(size_t count) {
    size_t bytes = (count * sizeof(float) + 2 * kAlignment - 1) / kAlignment * kAlignment;
    if (bytes <= m_bytes) return m_data;
    release();
    m_data = Pool::instance().take(bytes);
    if (!m_data) {
        m_data = static_cast<float*>(std::aligned_alloc(kAlignment, bytes));
        if (!m_data) throw std::bad_alloc();
        g_allocations.fetch_add(1, std::memory_order_relaxed);
    }
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
