// Work that comes again, recorded once and queued with one call (CUDA graphs).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mpm_layer/cuda/device/resources.hpp"
#include "mpm_layer/cuda/logic/recent.hpp"

namespace mpm::cuda {

/// An executable graph; empty until recorded.
class Graph {
public:
    Graph() = default;
    ~Graph() { release(); }
    Graph(Graph&& other) noexcept { std::swap(m_executable, other.m_executable); }
    Graph& operator=(Graph&& other) noexcept {
        std::swap(m_executable, other.m_executable);
        return *this;
    }

    bool recorded() const { return m_executable != nullptr; }
    /// What `body` queues on the stream, which is not run. False, and empty, where that cannot be recorded.
    bool record(cudaStream_t stream, const std::function<void()>& body);
    void launch(cudaStream_t stream) const { MPM_CUDA_CHECK(cudaGraphLaunch(m_executable, stream)); }

private:
    void release();

    cudaGraphExec_t m_executable = nullptr;
};

/// All that a graph's kernels were given: shapes and addresses.
using GraphKey = std::vector<std::uint64_t>;

class Graphs {
public:
    /// Queues what `body` queues: by body() itself when `key` is met first, which reserves all memory and
    /// plans all products; by a graph from then on. Where recording is refused, by body() for good.
    void run(const GraphKey& key, cudaStream_t stream, const std::function<void()>& body);

private:
    static constexpr size_t kMost = 64;

    Recent<GraphKey, Graph> m_recent{kMost};
    bool m_refused = false;
};

}  // namespace mpm::cuda
