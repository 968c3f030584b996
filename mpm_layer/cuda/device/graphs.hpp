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
    /// Records the work that `body` queues on the stream, without running it. If the recording fails, returns
    /// false, and the graph is empty.
    bool record(cudaStream_t stream, const std::function<void()>& body);
    void launch(cudaStream_t stream) const { MPM_CUDA_CHECK(cudaGraphLaunch(*this, stream)); }
};

/// All arguments of a graph's kernels: shapes and addresses.
using GraphKey = std::vector<std::uint64_t>;

class Graphs {
public:
    /// Queues the work of `body`. The first use of `key` calls `body`, which also reserves all memory and
    /// plans all products. Later uses launch a graph, which the second use records. If a recording has
    /// failed, all later calls of run() call `body`.
    void run(const GraphKey& key, cudaStream_t stream, const std::function<void()>& body);

private:
    static constexpr size_t kMost = 64;

    Recent<GraphKey, Graph> m_recent{kMost};
    bool m_refused = false;
};

}  // namespace mpm::cuda
