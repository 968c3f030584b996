// Buffers for kernels, aligned for the widest vector. The process keeps freed memory for later buffers. After
// the first forward passes, buffers take no memory from the system, even if the number of tokens changes.
#pragma once

#include <cstddef>
#include <utility>

namespace mpm::kernels {

constexpr size_t kAlignment = 64;

/// A buffer of uninitialised floats. If the buffer grows, its contents are lost.
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(size_t count) { reserve(count); }
    ~Buffer() { release(); }
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    /// Reserves at least `count` floats and a cache line after them, so that a kernel may read a whole vector
    /// that begins at the last float.
    float* reserve(size_t count);
    float* data() { return m_data; }
    const float* data() const { return m_data; }

private:
    void release();
    void swap(Buffer& other) noexcept {
        std::swap(m_data, other.m_data);
        std::swap(m_bytes, other.m_bytes);
    }

    float* m_data = nullptr;
    size_t m_bytes = 0;
};

/// Returns how many times a buffer found no suitable freed memory: constant after the first forwards.
size_t systemAllocations();

}  // namespace mpm::kernels
