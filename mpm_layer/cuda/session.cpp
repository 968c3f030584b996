#include "mpm_layer/cuda/session.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

namespace mpm::cuda {
namespace {

// By default, CUDA graphs are used up to this number of values in the residual stream. With more values, a
// kernel takes longer than the CPU needs for a launch, about 3 microseconds.
constexpr long long kGraphValues = 4 << 20;

bool takesGraphs(const MpmCudaInput& input, int dim) {
    if (input.graphs != MPM_CUDA_GRAPHS_AUTO) return input.graphs == MPM_CUDA_GRAPHS_ALWAYS;
    return static_cast<long long>(input.images) * input.rows_per_image * dim <= kGraphValues;
}

}  // namespace

Session::Session(const Weights& weights, const MpmCudaInput& input)
    : m_weights(weights),
      m_options(input.options),
      m_parallel(input.parallel),
      m_images(input.images),
      m_tokens(input.rows_per_image - input.options.special_tokens),
      m_biased(input.key_bias != nullptr),
      m_proportional(input.proportional != 0),
      m_readsCounts(input.read_counts != 0),
      m_fixed(input.fixed_kernels != 0),
      m_graphs(takesGraphs(input, weights.dim)),
      m_nearest(input.nearest),
      m_capacity(roundedRows(input.images * input.rows_per_image)),
      m_rows(input.images * input.rows_per_image),
      m_longest(input.rows_per_image),
      m_executor(takeExecutor(weights.device)) {
    try {
        reserve();
        upload(input);
    } catch (...) {
        // Waits for copies in progress: if the constructor throws, no destructor waits for these copies.
        cudaStreamSynchronize(stream());
        throw;
    }
}

// Returns the executor to the pool, unless its stream has failed.
Session::~Session() {
    // Each merge swaps the buffers. Graphs contain addresses, so the next session needs the original order.
    if (m_stages % 2 != 0) std::swap(m_executor->batch, m_executor->merged);
    if (cudaStreamSynchronize(stream()) == cudaSuccess) {
        giveBack(std::move(m_executor));
    } else {
        cudaGetLastError();
    }
}

BatchView Session::view() const {
    return {m_executor->batch.offsets.data(),
            m_images,
            m_options.special_tokens,
            m_weights.dim,
            m_rows,
            m_longest};
}

void Session::queue(const Step& step) {
    if (m_graphs) {
        m_steps.push_back(step);
    } else {
        runSteps({step});
    }
}

void Session::runSteps(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
        if (step.attends) {
            attendNow(step.block);
        } else {
            runMlpNow(step.block);
        }
    }
}

// Queues the blocks between two merges as a graph. A graph cannot span a merge, because the CPU then reads
// the number of remaining rows.
void Session::flush() {
    if (m_steps.empty()) return;
    std::vector<Step> steps;
    steps.swap(m_steps);
    m_executor->graphs.run(keyOf(steps), stream(), [&] { runSteps(steps); });
}

GraphKey Session::keyOf(const std::vector<Step>& steps) const {
    GraphKey key = {m_weights.id,
                    static_cast<std::uint64_t>(m_images),
                    static_cast<std::uint64_t>(m_rows),
                    static_cast<std::uint64_t>(m_longest),
                    static_cast<std::uint64_t>(logits() != nullptr),
                    static_cast<std::uint64_t>(m_fixed)};
    std::uint32_t options[sizeof m_options / sizeof(std::uint32_t)];
    std::memcpy(options, &m_options, sizeof options);
    key.insert(key.end(), std::begin(options), std::end(options));
    for (const Step& step : steps)
        key.push_back(2 * static_cast<std::uint64_t>(step.block) + step.attends);
    for (const void* address : m_executor->addressesOfBlocks())
        key.push_back(reinterpret_cast<std::uintptr_t>(address));
    return key;
}

// Throws if a pointer does not point to memory of this device. Without this check, a kernel would fail much
// later, and the message would not name the pointer.
void Session::checkPointer(const void* pointer, const char* what) const {
    cudaPointerAttributes attributes{};
    MPM_CUDA_CHECK(cudaPointerGetAttributes(&attributes, pointer));
    const bool here = attributes.type == cudaMemoryTypeManaged ||
                      (attributes.type == cudaMemoryTypeDevice && attributes.device == device());
    if (!here) {
        throw std::invalid_argument(std::string(what) + " must lie in the memory of device " +
                                    std::to_string(device()));
    }
}

void Session::reserve() {
    Executor& e = *m_executor;
    const size_t rows = m_capacity, dim = m_weights.dim;
    const size_t pitch = static_cast<size_t>(m_images) * m_tokens;
    for (RowBuffers* buffers : {&e.batch, &e.merged}) {
        buffers->rows.reserve(rows * dim);
        buffers->sizes.reserve(rows);
        buffers->positions.reserve(rows);
        buffers->offsets.reserve(m_images + 1);
        if (m_biased) buffers->bias.reserve(rows);
    }
    e.starts.reserve(pitch + m_images);
    e.members.reserve(pitch);
    e.composed.reserve(pitch);
    e.extent.reserve(1);
    e.downExtent.reserve(1);
    if (m_biased || m_proportional) e.logits.reserve(rows);
}

void Session::upload(const MpmCudaInput& input) {
    Executor& e = *m_executor;
    const size_t values = static_cast<size_t>(m_rows) * m_weights.dim;
    if (input.tokens_on_device) {
        if (values > 0) checkPointer(input.tokens, "tokens");
        awaitCaller(static_cast<cudaStream_t>(input.stream));
        MPM_CUDA_CHECK(cudaMemcpyAsync(e.batch.rows.data(), input.tokens, values * sizeof(float),
                                       cudaMemcpyDeviceToDevice, stream()));
    } else {
        uploadInSlices(input.tokens, values, e.up, e.batch.rows.data(), m_parallel, stream());
    }
    startBatch(view(), e.batch.offsets.data(), e.batch.state(m_biased), e.composed.data(), stream());
    if (m_biased) uploadBias(input);
    refreshLogits();
}

// Makes the executor's stream wait for the caller's stream: queued work there may still write the tokens or
// read the memory of the outputs.
void Session::awaitCaller(cudaStream_t caller) {
    m_executor->callerReady.record(caller);
    m_executor->callerReady.holdBack(stream());
}

void Session::uploadBias(const MpmCudaInput& input) {
    Executor& e = *m_executor;
    const int given = input.key_bias_images * input.rows_per_image;
    float* staged = e.upBias.reserve(m_rows);
    for (int r = 0; r < m_rows; ++r)
        staged[r] = input.key_bias[r % given];
    MPM_CUDA_CHECK(cudaMemcpyAsync(e.batch.bias.data(), staged, m_rows * sizeof(float),
                                   cudaMemcpyHostToDevice, stream()));
}

void Session::refreshLogits() {
    if (!m_biased && !m_proportional) return;
    const Executor& e = *m_executor;
    keyLogits(view(), m_biased ? e.batch.bias.data() : nullptr,
              m_proportional ? e.batch.sizes.data() : nullptr, e.logits.data(), stream());
}

void Session::emit(bool norm, float* output, bool onDevice) {
    flush();
    Executor& e = *m_executor;
    const size_t dim = m_weights.dim;
    const size_t values = static_cast<size_t>(m_images) * (m_options.special_tokens + m_tokens) * dim;
    OutputBuffers& buffers = e.output(m_outputs);
    EventPair& times = Executor::pair(e.restoreTimes, m_outputs);
    if (onDevice && values > 0) checkPointer(output, "the output");
    float* target = onDevice ? output : buffers.rows.reserve(values);
    NormView finalNorm = m_weights.finalNorm.view(m_options.final_norm);
    finalNorm.present = finalNorm.present && norm;
    times.start.record(stream());
    restoreRows(view(), e.batch.rows.data(), finalNorm, e.composed.data(), m_tokens, target, stream());
    times.stop.record(stream());
    ++m_outputs;
    if (onDevice) return;
    float* pinned = buffers.down.reserve(values);
    copyDown(pinned, target, values, stream());
    m_downloads.push_back({pinned, output, values});
}

MpmCudaTimes Session::finish() {
    flush();
    Executor& e = *m_executor;
    const size_t ids = static_cast<size_t>(m_images) * m_tokens;
    for (size_t s = 0; s < m_stages; ++s) {
        StageBuffers& stage = e.stage(s);
        copyDown(stage.downIds.reserve(ids), stage.ids.data(), ids, stream());
        copyDown(stage.downCounts.reserve(m_images), stage.counts.data(), m_images, stream());
    }
    e.stream.wait();
    for (const Download& download : m_downloads)
        copyOut(download, m_parallel);
    m_downloads.clear();
    m_imposed.clear();
    MpmCudaTimes times{};
    for (size_t s = 0; s < m_stages; ++s)
        times.merge_ms += e.mergeTimes[s].stop.millisecondsSince(e.mergeTimes[s].start);
    for (size_t o = 0; o < m_outputs; ++o)
        times.restore_ms += e.restoreTimes[o].stop.millisecondsSince(e.restoreTimes[o].start);
    return times;
}

}  // namespace mpm::cuda
