// Streams of the emulated device are queues. The work in a queue runs only when the host waits, so if the
// tested code lacks a wait, the code's results are wrong.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include <cuda_runtime.h>

namespace emulated {

/// A piece of work. Returns an error; empty if there is none.
using Work = std::function<std::string()>;

std::recursive_mutex& runtimeGuard();

/// Keeps an error for cudaGetLastError(), with the text of a kernel's failure.
cudaError_t remembered(cudaError_t error, const std::string& failure = "");

/// Adds work to the end of the stream, or to the graph that the stream records.
cudaError_t queue(cudaStream_t stream, Work work);

}  // namespace emulated
