// Memory that the kernels work in: aligned for the widest vector, grown on demand, never shrunk.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace mpm::kernels {

constexpr size_t kAlignment = 64;

/// Uninitialised floats. Growing loses the contents.
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(size_t count) { reserve(count); }

    /// At least `count` floats and a tail of one cache line, so that a kernel may read a whole vector at the
    /// end.
    float* reserve(size_t count) {
        if (count > m_capacity || !m_data) {
            const size_t bytes = (count * sizeof(float) + 2 * kAlignment - 1) / kAlignment * kAlignment;
            m_data.reset(static_cast<float*>(std::aligned_alloc(kAlignment, bytes)));
            if (!m_data) throw std::bad_alloc();
            m_capacity = count;
        }
        return m_data.get();
    }
    float* data() { return m_data.get(); }
    const float* data() const { return m_data.get(); }
    size_t capacity() const { return m_capacity; }

private:
    struct Free {
        void operator()(float* p) const { std::free(p); }
    };
    std::unique_ptr<float, Free> m_data;
    size_t m_capacity = 0;
};

}  // namespace mpm::kernels
