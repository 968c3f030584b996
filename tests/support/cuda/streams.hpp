// Streams of the emulated device are queues whose work is done when the host waits, and no earlier: a missing
// wait shows as values that have not arrived.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include <cuda_runtime.h>

namespace emulated {

/// Empty, or an error.
using Work = std::function<std::string()>;

std::recursive_mutex& runtimeGuard();

/// Keeps an error for cudaGetLastError(), with the text of a kernel's failure.
cudaError_t remembered(cudaError_t error, const std::string& failure = "");

/// To the end of the stream, or into the graph that it records.
cudaError_t queue(cudaStream_t stream, Work work);

}  // namespace emulated
