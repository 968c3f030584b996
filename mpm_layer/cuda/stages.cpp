// The merges of a session, which shorten the batch, and their report.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "mpm_layer/cuda/session.hpp"

namespace mpm::cuda {

void Session::reduce(const MpmCudaStage& stage) {
    flush();
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
    shorten(tables, stage.mean);
    times.stop.record(stream());
    ++m_stages;
    if (!m_readsCounts) return;
    // The device copies the extent before it merges the rows, so this wait can end during the merge.
    e.extentKnown.wait();
    // Rounds the bounds up, so that products and graphs have fewer different sizes.
    m_rows = std::min(m_rows, roundedRows(e.downExtent.data()->rows));
    m_longest = std::min(m_longest, roundedLength(e.downExtent.data()->longest));
}

void Session::decidePairs(const ClusterTables& tables) {
    Executor& e = *m_executor;
    const int stride = (m_weights.dim + kUnitStep - 1) / kUnitStep * kUnitStep;
    const size_t values = static_cast<size_t>(m_capacity) * stride;
    const bool tensor = m_nearest == MPM_CUDA_NEAREST_TENSOR;
    const UnitRows unit{tensor ? nullptr : e.unit.reserve(values),
                        tensor ? e.split.reserve(values * kSplitTerms) : nullptr, stride,
                        e.finite.reserve(m_capacity), e.best.reserve(m_capacity)};
    normaliseRows(view(), e.batch.rows.data(), unit, stream());
    if (tensor) {
        findNearestOnTensorCores(view(), unit, stream());
    } else {
        findNearest(view(), unit, stream());
    }
    numberClusters(view(), unit.best, tables, stream());
}

// Lists the members of every cluster on the CPU. Uploads the lists and the maps to the buffers that the
// tables in reduce() point to; these buffers are large enough.
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

void Session::shorten(const ClusterTables& tables, int mean) {
    Executor& e = *m_executor;
    placeImages(view(), tables, e.merged.offsets.data(), e.extent.data(), stream());
    copyDown(e.downExtent.data(), e.extent.data(), 1, stream());
    e.extentKnown.record(stream());
    mergeRows(view(), e.batch.state(m_biased), e.merged.offsets.data(), tables, mean,
              e.merged.state(m_biased), stream());
    composeMaps(tables, m_images, m_tokens, e.composed.data(), stream());
    std::swap(e.batch, e.merged);
    refreshLogits();
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
    flush();
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
