// Owners of memory, streams and events of the device.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "mpm_layer/cuda/device/check.hpp"

namespace mpm::cuda {

/// Makes the device current in the calling thread while the guard exists.
class DeviceGuard {
public:
    explicit DeviceGuard(int device) {
        MPM_CUDA_CHECK(cudaGetDevice(&m_previous));
        MPM_CUDA_CHECK(cudaSetDevice(device));
    }
    ~DeviceGuard() { cudaSetDevice(m_previous); }
    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;

private:
    int m_previous = 0;
};

struct DeviceSpace {
    static void* take(size_t bytes) {
        void* memory = nullptr;
        MPM_CUDA_CHECK(cudaMalloc(&memory, bytes));
        return memory;
    }
    static void give(void* memory) { cudaFree(memory); }
};

struct PinnedSpace {
    static void* take(size_t bytes) {
        void* memory = nullptr;
        MPM_CUDA_CHECK(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault));
        return memory;
    }
    static void give(void* memory) { cudaFreeHost(memory); }
};

/// Memory that grows on demand and is freed with the buffer. If the buffer grows, the contents are lost. If
/// memory runs out, the buffer is empty, and a smaller size can be reserved.
template <class T, class Space>
class Buffer {
public:
    Buffer() = default;
    ~Buffer() { release(); }
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        swap(other);
        return *this;
    }

    T* reserve(size_t count) {
        if (count > m_count) {
            if (count > static_cast<size_t>(-1) / sizeof(T)) throw std::bad_alloc();
            release();
            m_data = static_cast<T*>(Space::take(count * sizeof(T)));
            m_count = count;
        }
        return m_data;
    }
    T* data() const { return m_data; }
    size_t capacity() const { return m_count; }
    void swap(Buffer& other) {
        std::swap(m_data, other.m_data);
        std::swap(m_count, other.m_count);
    }

private:
    void release() {
        if (m_data) Space::give(m_data);
        m_data = nullptr;
        m_count = 0;
    }

    T* m_data = nullptr;
    size_t m_count = 0;
};

template <class T>
using DeviceBuffer = Buffer<T, DeviceSpace>;
template <class T>
using PinnedBuffer = Buffer<T, PinnedSpace>;

/// Owns an object that kDestroy frees. Empty until an object is created at address().
template <class Object, auto kDestroy>
class Handle {
public:
    Handle() = default;
    ~Handle() { release(); }
    Handle(Handle&& other) noexcept { std::swap(m_object, other.m_object); }
    Handle& operator=(Handle&& other) noexcept {
        std::swap(m_object, other.m_object);
        return *this;
    }

    operator Object() const { return m_object; }
    Object* address() { return &m_object; }
    void release() {
        if (m_object) kDestroy(m_object);
        m_object = nullptr;
    }

private:
    Object m_object = nullptr;
};

class Stream : public Handle<cudaStream_t, cudaStreamDestroy> {
public:
    Stream() { MPM_CUDA_CHECK(cudaStreamCreateWithFlags(address(), cudaStreamNonBlocking)); }
    void wait() const { MPM_CUDA_CHECK(cudaStreamSynchronize(*this)); }
};

class Event : public Handle<cudaEvent_t, cudaEventDestroy> {
public:
    Event() { MPM_CUDA_CHECK(cudaEventCreate(address())); }
    void record(cudaStream_t stream) const { MPM_CUDA_CHECK(cudaEventRecord(*this, stream)); }
    void wait() const { MPM_CUDA_CHECK(cudaEventSynchronize(*this)); }
    /// Makes all work that is later queued on the stream wait for the event.
    void holdBack(cudaStream_t stream) const { MPM_CUDA_CHECK(cudaStreamWaitEvent(stream, *this, 0)); }
    double millisecondsSince(const Event& start) const {
        float ms = 0;
        MPM_CUDA_CHECK(cudaEventElapsedTime(&ms, start, *this));
        return ms;
    }
};

}  // namespace mpm::cuda
