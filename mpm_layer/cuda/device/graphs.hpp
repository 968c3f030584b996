// Repeated work, recorded once and queued with a single call (CUDA graphs).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mpm_layer/cuda/device/resources.hpp"
#include "mpm_layer/cuda/logic/recent.hpp"

namespace mpm::cuda {

/// An executable graph; empty until recorded.
class Graph : public Handle<cudaGraphExec_t, cudaGraphExecDestroy> {
public:
    bool recorded() const { return *this != nullptr; }
    /// Records the work that `body` queues on the stream, without running it. False, and empty, if that
    /// fails.
    bool record(cudaStream_t stream, const std::function<void()>& body);
    void launch(cudaStream_t stream) const { MPM_CUDA_CHECK(cudaGraphLaunch(*this, stream)); }
};

/// All arguments of a graph's kernels: shapes and addresses.
using GraphKey = std::vector<std::uint64_t>;

class Graphs {
public:
    /// Queues the work of `body`: by calling it if `key` is new, which reserves all memory and plans all
    /// products; by a graph from then on. If a recording fails, always by calling it.
    void run(const GraphKey& key, cudaStream_t stream, const std::function<void()>& body);

private:
    static constexpr size_t kMost = 64;

    Recent<GraphKey, Graph> m_recent{kMost};
    bool m_refused = false;
};

}  // namespace mpm::cuda
