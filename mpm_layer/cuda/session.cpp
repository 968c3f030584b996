#include "mpm_layer/cuda/session.hpp"

#include <algorithm>
#include <string>

#include "mpm_layer/cuda/logic/strides.hpp"

namespace mpm::cuda {
namespace {

template <class T>
void copyUp(DeviceBuffer<T>& to, const std::vector<T>& values, cudaStream_t stream) {
    to.reserve(values.size());
    MPM_CUDA_CHECK(
        cudaMemcpyAsync(to.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
}

template <class T>
void copyDown(T* to, const T* from, size_t count, cudaStream_t stream) {
    if (count == 0) return;
    MPM_CUDA_CHECK(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
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
      m_capacity(roundedRows(input.images * input.rows_per_image)),
      m_rows(input.images * input.rows_per_image),
      m_longest(input.rows_per_image),
      m_executor(takeExecutor(weights.device)) {
    try {
        reserve();
        upload(input);
    } catch (...) {
        // A constructor that throws runs no destructor, and copies may be under way.
        cudaStreamSynchronize(stream());
        throw;
    }
}

// An executor whose stream has failed is not given to the next session.
Session::~Session() {
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

int Session::productRows() const {
    return roundedRows(m_rows);
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
        MPM_CUDA_CHECK(cudaMemcpyAsync(e.batch.rows.data(), input.tokens, values * sizeof(float),
                                       cudaMemcpyDeviceToDevice, stream()));
    } else {
        uploadInSlices(input.tokens, values, e.up, e.batch.rows.data(), m_parallel, stream());
    }
    startBatch(view(), e.batch.offsets.data(), e.batch.state(m_biased), e.composed.data(), stream());
    if (m_biased) uploadBias(input);
    refreshLogits();
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

void Session::reduce(const MpmCudaStage& stage) {
    Executor& e = *m_executor;
    EventPair& times = Executor::pair(e.mergeTimes, m_stages);
    StageBuffers& kept = e.stage(m_stages);
    kept.ids.reserve(static_cast<size_t>(m_images) * m_tokens);
    kept.counts.reserve(m_images);
    const ClusterTables tables{kept.ids.data(), e.starts.data(), e.members.data(), kept.counts.data(),
                               m_tokens};
    times.start.record(stream());
    if (stage.ids) {
        impose(stage);
    } else {
        decidePairs(tables);
    }
    shorten(tables, stage.weighted != 0);
    times.stop.record(stream());
    ++m_stages;
    if (!m_readsCounts) return;
    // The extent was copied before the rows were merged: this wait ends while the device is still at work.
    e.extentKnown.wait();
    m_rows = e.downExtent.data()->rows;
    m_longest = e.downExtent.data()->longest;
}

void Session::decidePairs(const ClusterTables& tables) {
    Executor& e = *m_executor;
    const int stride = (m_weights.dim + kUnitStep - 1) / kUnitStep * kUnitStep;
    const UnitRows unit{e.unit.reserve(static_cast<size_t>(m_capacity) * stride), stride,
                        e.finite.reserve(m_capacity), e.best.reserve(m_capacity)};
    normaliseRows(view(), e.batch.rows.data(), unit, stream());
    findNearest(view(), unit, stream());
    numberClusters(view(), unit.best, tables, stream());
}

// The members of every cluster, listed on the processor, where the map came from. Goes where reduce()'s
// tables point: those buffers are large enough by now.
void Session::impose(const MpmCudaStage& stage) {
    m_imposed.push_back(std::make_unique<Imposed>());
    Imposed& imposed = *m_imposed.back();
    const std::vector<int> offsets = offsetsNow();
    imposed.ids.assign(static_cast<size_t>(m_images) * m_tokens, 0);
    imposed.members = imposed.ids;
    imposed.starts.assign(imposed.ids.size() + m_images, 0);
    imposed.counts.assign(stage.clusters, stage.clusters + m_images);
    const int* ids = stage.ids;
    for (int i = 0; i < m_images; ++i) {
        const int tokens = offsets[i + 1] - offsets[i] - m_options.special_tokens;
        const size_t at = static_cast<size_t>(i) * m_tokens;
        int* starts = &imposed.starts[at + i];
        std::copy_n(ids, tokens, imposed.ids.begin() + at);
        for (int t = 0; t < tokens; ++t)
            ++starts[ids[t] + 1];
        for (int c = 0; c < stage.clusters[i]; ++c)
            starts[c + 1] += starts[c];
        std::vector<int> next(starts, starts + stage.clusters[i]);
        for (int t = 0; t < tokens; ++t)
            imposed.members[at + next[ids[t]]++] = t;
        ids += tokens;
    }
    Executor& e = *m_executor;
    if (!imposed.ids.empty()) {
        copyUp(e.stage(m_stages).ids, imposed.ids, stream());
        copyUp(e.members, imposed.members, stream());
    }
    copyUp(e.starts, imposed.starts, stream());
    copyUp(e.stage(m_stages).counts, imposed.counts, stream());
}

void Session::shorten(const ClusterTables& tables, bool weighted) {
    Executor& e = *m_executor;
    placeImages(view(), tables, e.merged.offsets.data(), e.extent.data(), stream());
    copyDown(e.downExtent.data(), e.extent.data(), 1, stream());
    e.extentKnown.record(stream());
    mergeRows(view(), e.batch.state(m_biased), e.merged.offsets.data(), tables, weighted,
              e.merged.state(m_biased), stream());
    composeMaps(tables, m_images, m_tokens, e.composed.data(), stream());
    std::swap(e.batch, e.merged);
    refreshLogits();
}

void Session::emit(bool norm, float* output, bool onDevice) {
    Executor& e = *m_executor;
    const size_t dim = m_weights.dim;
    const float* source = e.batch.rows.data();
    if (norm) {
        // Norm before the gather: merged rows are fewer.
        float* normed = e.normed.reserve(m_capacity * dim);
        layerNorm<float, float>(view(), {source, dim}, m_weights.dim,
                                m_weights.finalNorm.view(m_options.final_epsilon), {normed, dim}, stream());
        source = normed;
    }
    const size_t values = static_cast<size_t>(m_images) * (m_options.special_tokens + m_tokens) * dim;
    OutputBuffers& buffers = e.output(m_outputs);
    EventPair& times = Executor::pair(e.restoreTimes, m_outputs);
    float* target = onDevice ? output : buffers.rows.reserve(values);
    times.start.record(stream());
    restoreRows(view(), source, e.composed.data(), m_tokens, target, stream());
    times.stop.record(stream());
    ++m_outputs;
    if (onDevice) return;
    float* pinned = buffers.down.reserve(values);
    copyDown(pinned, target, values, stream());
    m_downloads.push_back({pinned, output, values});
}

MpmCudaTimes Session::finish() {
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

void Session::checkStage(int stage, int image) const {
    if (stage < 0 || static_cast<size_t>(stage) >= m_stages || image < 0 || image >= m_images)
        throw std::out_of_range("there is no stage " + std::to_string(stage) + " of image " +
                                std::to_string(image));
}

int Session::stageTokens(int stage, int image) const {
    checkStage(stage, image);
    return m_executor->stages[stage]->downCounts.data()[image];
}

void Session::stageMap(int stage, int image, int* ids) const {
    checkStage(stage, image);
    const int tokens = stage == 0 ? m_tokens : stageTokens(stage - 1, image);
    std::copy_n(m_executor->stages[stage]->downIds.data() + static_cast<size_t>(image) * m_tokens, tokens,
                ids);
}

std::vector<int> Session::offsetsNow() {
    std::vector<int> offsets(m_images + 1);
    copyDown(offsets.data(), m_executor->batch.offsets.data(), offsets.size(), stream());
    m_executor->stream.wait();
    return offsets;
}

void Session::readCounts(int* counts) {
    const std::vector<int> offsets = offsetsNow();
    for (int i = 0; i < m_images; ++i)
        counts[i] = offsets[i + 1] - offsets[i] - m_options.special_tokens;
}

void Session::readRows(float* rows, float* keys, float* sizes) {
    Executor& e = *m_executor;
    const std::vector<int> offsets = offsetsNow();
    const size_t dim = m_weights.dim, headSize = m_weights.headSize;
    if (keys) meanOfKeys(e.keys.reserve(m_capacity * headSize));
    size_t to = 0;
    for (int i = 0; i < m_images; ++i) {
        const size_t first = offsets[i] + m_options.special_tokens, count = offsets[i + 1] - first;
        if (rows) copyDown(rows + to * dim, e.batch.rows.data() + first * dim, count * dim, stream());
        if (keys)
            copyDown(keys + to * headSize, e.keys.data() + first * headSize, count * headSize, stream());
        if (sizes) copyDown(sizes + to, e.batch.sizes.data() + first, count, stream());
        to += count;
    }
    e.stream.wait();
}

}  // namespace mpm::cuda
