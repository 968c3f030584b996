#include "mpm_layer/cuda/device/graphs.hpp"

namespace mpm::cuda {
namespace {

// Returns whether a call succeeded. If not, clears the error, because the caller then queues the work without
// a graph. If the graph was not the cause, the error then occurs again.
bool succeeded(cudaError_t status) {
    if (status != cudaSuccess) cudaGetLastError();
    return status == cudaSuccess;
}

}  // namespace

bool Graph::record(cudaStream_t stream, const std::function<void()>& body) {
    release();
    // In this mode, other threads may allocate and copy during the recording.
    if (!succeeded(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal))) return false;
    bool queued = true;
    try {
        body();
    } catch (const std::exception&) {
        queued = false;
    }
    // The recording must always end, even after an exception.
    Handle<cudaGraph_t, cudaGraphDestroy> plain;  // the recorded graph, not yet executable
    const bool ended = succeeded(cudaStreamEndCapture(stream, plain.address()));
    if (!queued || !ended || !plain) return false;
    if (succeeded(cudaGraphInstantiateWithFlags(address(), plain, 0))) return true;
    *address() = nullptr;
    return false;
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
