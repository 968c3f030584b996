#include "support/cuda/streams.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "support/cuda/memory.hpp"
#include "support/cuda/threads.hpp"

using emulated::isOnDevice;
using emulated::isRefused;
using emulated::remembered;
using emulated::Work;
using Clock = std::chrono::steady_clock;
using Lock = std::lock_guard<std::recursive_mutex>;

struct CUgraph_st {
    std::vector<Work> work;
};
struct CUgraphExec_st {
    std::vector<Work> work;
};

struct CUstream_st {
    std::deque<Work> waiting;
    std::uint64_t queued = 0, done = 0;
    std::string failure;  ///< is kept, because a stream cannot be used after a failure
    std::unique_ptr<CUgraph_st> recording;
    std::thread::id recorder;
    bool invalidated = false;
};

struct CUevent_st {
    std::shared_ptr<CUstream_st> stream;
    std::uint64_t number = 0;  ///< number, within the stream, of the work that records the event
    Clock::time_point time;
};

namespace {

std::map<cudaStream_t, std::shared_ptr<CUstream_st>>& streams() {
    static auto& all = *new std::map<cudaStream_t, std::shared_ptr<CUstream_st>>;
    return all;
}

std::shared_ptr<CUstream_st> streamOf(cudaStream_t handle) {
    std::shared_ptr<CUstream_st>& stream = streams()[handle];
    if (!stream) {
        if (handle) std::abort();  // the stream was destroyed
        stream = std::make_shared<CUstream_st>();
    }
    return stream;
}

cudaError_t runUntil(CUstream_st& stream, std::uint64_t number) {
    while (stream.done < number) {
        const Work work = std::move(stream.waiting.front());
        stream.waiting.pop_front();
        ++stream.done;
        if (stream.failure.empty()) stream.failure = work();
    }
    return stream.failure.empty() ? cudaSuccess : remembered(cudaErrorLaunchFailure, stream.failure);
}

void runAll() {
    std::vector<std::shared_ptr<CUstream_st>> all;
    for (const auto& [handle, stream] : streams())
        all.push_back(stream);
    for (const auto& stream : all)
        runUntil(*stream, stream->queued);
}

/// Invalidates recordings by the calling thread. Functions that synchronise the whole device call this.
bool breaksRecording() {
    bool breaks = false;
    for (const auto& [handle, stream] : streams()) {
        if (!stream->recording || stream->recorder != std::this_thread::get_id()) continue;
        stream->invalidated = breaks = true;
    }
    return breaks;
}

Work copying(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return [=]() -> std::string {
        const bool fits = (kind == cudaMemcpyDeviceToHost || isOnDevice(to, bytes)) &&
                          (kind == cudaMemcpyHostToDevice || isOnDevice(from, bytes));
        if (!fits) return "a copy of " + std::to_string(bytes) + " bytes leaves the memory of the device";
        std::memmove(to, from, bytes);
        return "";
    };
}

std::map<const void*, int>& sharedBytesOf() {
    static auto& all = *new std::map<const void*, int>;
    return all;
}

}  // namespace

namespace emulated {

cudaError_t queue(cudaStream_t handle, Work work) {
    const Lock lock(runtimeGuard());
    CUstream_st& stream = *streamOf(handle);
    if (stream.recording) {
        stream.recording->work.push_back(std::move(work));
    } else {
        stream.waiting.push_back(std::move(work));
        ++stream.queued;
    }
    return cudaSuccess;
}

cudaError_t allowSharedBytes(const void* kernel, int bytes) {
    const Lock lock(runtimeGuard());
    if (bytes < 0 || static_cast<size_t>(bytes) > kMostSharedBytes) return remembered(cudaErrorInvalidValue);
    sharedBytesOf()[kernel] = bytes;
    return cudaSuccess;
}

cudaError_t queueLaunch(const cudaLaunchConfig_t& config, const void* kernel, std::function<void()> thread) {
    const Lock lock(runtimeGuard());
    const dim3 grid = config.gridDim, block = config.blockDim;
    const size_t threads = size_t{block.x} * block.y * block.z, shared = config.dynamicSmemBytes;
    const bool fits = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x < 1u << 31 && grid.y < 1u << 16 &&
                      grid.z < 1u << 16 && threads > 0 && threads <= kMostThreads && threads % kWarp == 0;
    if (!fits) return remembered(cudaErrorInvalidConfiguration);
    const auto allowed = sharedBytesOf().find(kernel);
    const int most = allowed == sharedBytesOf().end() ? 48 << 10 : std::max(48 << 10, allowed->second);
    if (shared > static_cast<size_t>(most)) return remembered(cudaErrorInvalidValue);
    return queue(config.stream, [=]() -> std::string {
        const std::string failure = runGrid(grid, block, shared, thread);
        if (failure.empty()) return "";
        return "a kernel of " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
               std::to_string(grid.z) + " blocks of " + std::to_string(threads) +
               " threads failed: " + failure;
    });
}

}  // namespace emulated

using emulated::queue;
using emulated::runtimeGuard;

cudaError_t cudaMalloc(void** memory, size_t bytes) {
    const Lock lock(runtimeGuard());
    if (breaksRecording()) return remembered(cudaErrorStreamCaptureUnsupported);
    *memory = isRefused("cudaMalloc") ? nullptr : emulated::takeMemory(bytes);
    return remembered(*memory ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* memory) {
    const Lock lock(runtimeGuard());
    if (!memory) return cudaSuccess;
    if (breaksRecording()) return remembered(cudaErrorStreamCaptureUnsupported);
    runAll();
    return remembered(emulated::giveMemory(memory) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
    const Lock lock(runtimeGuard());
    *memory = isRefused("cudaHostAlloc") ? nullptr : std::malloc(bytes);
    if (*memory) std::memset(*memory, 0xff, bytes);
    return remembered(*memory ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void* memory) {
    const Lock lock(runtimeGuard());
    runAll();
    std::free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return queue(stream, copying(to, from, bytes, kind));
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    queue(nullptr, copying(to, from, bytes, kind));
    return cudaStreamSynchronize(nullptr);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    const Lock lock(runtimeGuard());
    attributes->type = isOnDevice(pointer, 1) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    attributes->device = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    const Lock lock(runtimeGuard());
    const auto made = std::make_shared<CUstream_st>();
    *stream = made.get();
    streams()[*stream] = made;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    const Lock lock(runtimeGuard());
    runUntil(*streamOf(stream), streamOf(stream)->queued);
    streams().erase(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    const Lock lock(runtimeGuard());
    CUstream_st& stream = *streamOf(handle);
    if (stream.recording) {
        stream.invalidated = true;
        return remembered(cudaErrorStreamCaptureUnsupported);
    }
    return runUntil(stream, stream.queued);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    const Lock lock(runtimeGuard());
    const std::shared_ptr<CUstream_st> other = event->stream;
    const std::uint64_t number = event->number;
    if (!other) return cudaSuccess;
    return queue(stream, [=] {
        runUntil(*other, number);
        return other->failure;
    });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    *event = new CUevent_st;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    const Lock lock(runtimeGuard());
    if (event->stream) runUntil(*event->stream, event->number);
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const Lock lock(runtimeGuard());
    queue(stream, [event]() -> std::string {
        event->time = Clock::now();
        return "";
    });
    event->stream = streamOf(stream);
    event->number = event->stream->queued;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    const Lock lock(runtimeGuard());
    return event->stream ? runUntil(*event->stream, event->number) : cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t stop) {
    const Lock lock(runtimeGuard());
    const bool done = start->stream && stop->stream && start->stream->done >= start->number &&
                      stop->stream->done >= stop->number;
    if (!done) return remembered(cudaErrorInvalidValue);
    *ms = std::chrono::duration<float, std::milli>(stop->time - start->time).count();
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
    const Lock lock(runtimeGuard());
    if (isRefused("cudaStreamBeginCapture")) return remembered(cudaErrorInvalidValue);
    CUstream_st& stream = *streamOf(handle);
    stream.recording = std::make_unique<CUgraph_st>();
    stream.recorder = std::this_thread::get_id();
    stream.invalidated = false;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
    const Lock lock(runtimeGuard());
    CUstream_st& stream = *streamOf(handle);
    const std::unique_ptr<CUgraph_st> recorded = std::move(stream.recording);
    *graph = nullptr;
    if (isRefused("cudaStreamEndCapture") || !recorded || stream.invalidated)
        return remembered(cudaErrorStreamCaptureInvalidated);
    *graph = new CUgraph_st(*recorded);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
    const Lock lock(runtimeGuard());
    if (isRefused("cudaGraphInstantiateWithFlags")) return remembered(cudaErrorMemoryAllocation);
    *executable = new CUgraphExec_st{graph->work};
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    for (const Work& work : executable->work)
        queue(stream, work);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    delete executable;
    return cudaSuccess;
}
