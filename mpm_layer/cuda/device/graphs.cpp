#include "mpm_layer/cuda/device/graphs.hpp"

namespace mpm::cuda {
namespace {

/// A graph as recorded, before it is made executable.
struct Recorded {
    Recorded() = default;
    ~Recorded() {
        if (graph) cudaGraphDestroy(graph);
    }
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;

    cudaGraph_t graph = nullptr;
};

// The error itself is not needed: the caller queues the work without a graph, and the error occurs again if
// it has another cause than the graph.
bool succeeded(cudaError_t status) {
    if (status != cudaSuccess) cudaGetLastError();
    return status == cudaSuccess;
}

}  // namespace

bool Graph::record(cudaStream_t stream, const std::function<void()>& body) {
    release();
    // Other threads may allocate and copy in the meantime.
    if (!succeeded(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal))) return false;
    bool queued = true;
    try {
        body();
    } catch (const std::exception&) {
        queued = false;
    }
    // A stream must never stay in the state of recording.
    Recorded recorded;
    const bool ended = succeeded(cudaStreamEndCapture(stream, &recorded.graph));
    if (!queued || !ended || !recorded.graph) return false;
    if (succeeded(cudaGraphInstantiateWithFlags(&m_executable, recorded.graph, 0))) return true;
    m_executable = nullptr;
    return false;
}

void Graph::release() {
    if (m_executable) cudaGraphExecDestroy(m_executable);
    m_executable = nullptr;
}

void Graphs::run(const GraphKey& key, cudaStream_t stream, const std::function<void()>& body) {
    Graph* graph = m_refused ? nullptr : m_recent.meet(key);
    if (graph && !graph->recorded() && !graph->record(stream, body)) {
        m_refused = true;
        m_recent.clear();
        graph = nullptr;
    }
    if (graph) {
        graph->launch(stream);
    } else {
        body();
    }
}

}  // namespace mpm::cuda
