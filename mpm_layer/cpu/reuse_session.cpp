#include "mpm_layer/cpu/reuse_session.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "base/loops.hpp"
#include "mpm_layer/cpu/chunks.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm::cpu {
namespace {

std::vector<const std::vector<int>*> tokensOf(const std::vector<RememberedImage>& images) {
    std::vector<const std::vector<int>*> tokens;
    for (const RememberedImage& image : images)
        tokens.push_back(&image.plan->tokens);
    return tokens;
}

// Root mean square of the change, relative to that of the new row.
double driftOf(const float* before, const float* now, int dim) {
    const double size = kernels::squaredDistance(now, nullptr, dim);
    return size > 0 ? std::sqrt(kernels::squaredDistance(now, before, dim) / size) : 0;
}

}  // namespace

ReuseSession::ReuseSession(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights,
                           const SessionInput& input, const std::vector<RememberedImage>& images)
    : CpuSession(config, std::move(weights), Batch(input, config, tokensOf(images)), nullptr),
      m_images(images),
      m_keyBias(input.keyBias),
      m_rows(images.size()),
      m_reports(images.size()) {
    for (size_t i = 0; i < images.size(); ++i) {
        for (int e = 0; e < config.specialTokens; ++e)
            m_rows[i].push_back(e);
        for (int token : images[i].plan->tokens)
            m_rows[i].push_back(config.specialTokens + token);
        for (int t = 0; t < config.trailingTokens; ++t)
            m_rows[i].push_back(config.specialTokens + batch().inputTokens() + t);
    }
}

const float* ReuseSession::keyBiasOf(int image) const {
    if (m_keyBias.empty()) return nullptr;
    const size_t rows = batch().inputRows();
    return m_keyBias.ptr<float>() + (m_keyBias.total() == rows ? 0 : image * rows);
}

// Nothing merges between attention and MLP, so the work on a row up to queries, keys and values of the next
// block is a single loop: with few rows, threads of several loops would wait for each other often.
void ReuseSession::runMlp(int block) {
    const int next = block + 1;
    forEachChunk(batch().rows(), chunkSize(weights().precision, weights().blocks[block].fc1.columns()),
                 [&](int first, int count) {
                     if (config().parallel) feed(block, first, count);
                     projectOut(block, first, count);
                     if (!config().parallel) feed(block, first, count);
                     if (next < config().blocks) project(next, first, count);
                 });
}

void ReuseSession::project(int block, int first, int count) {
    projectIn(block, first, count);
    keep(block, first, count);
}

// Keys and values of these rows of the batch.
void ReuseSession::keep(int block, int first, int count) {
    for (int i = 0; i < batch().images(); ++i) {
        const int start = batch().window(i).first, end = start + checkedCast<int>(m_rows[i].size());
        const int from = std::max(first, start), to = std::min(first + count, end);
        if (from < to) memory(i).keep(block, heads(), from, m_rows[i].data() + (from - start), to - from);
    }
}

void ReuseSession::attend(int block) {
    if (block == 0) {
        beginHeads(0);
        forEachChunk(batch().rows(), chunkSize(weights().precision, 3 * weights().inner),
                     [&](int first, int count) { project(0, first, count); });
    }
    struct Task {
        int image, head, first;
    };
    std::vector<Task> tasks;
    for (int i = 0; i < batch().images(); ++i) {
        const int count = checkedCast<int>(m_rows[i].size());
        for (int h = 0; h < weights().heads; ++h) {
            for (int q = 0; q < count; q += kernels::queryPanel())
                tasks.push_back({i, h, q});
        }
    }
    size_t stride = 0;
    float* const output = attendedRows(stride);
    parallelFor(checkedCast<int>(tasks.size()), [&](int t) {
        const Task& task = tasks[t];
        const int first = batch().window(task.image).first;
        const HeadQueries queries{heads().at(HeadPart::Queries, task.head, first), heads().stride(),
                                  checkedCast<int>(m_rows[task.image].size())};
        float* to = output + (first + task.first) * stride + task.head * weights().headSize;
        memory(task.image).attend(block, task.head, queries, task.first, keyBiasOf(task.image), to, stride);
    });
}

void ReuseSession::emit(bool norm, cv::Mat& output) {
    const float* rows = normedRows(norm);
    const size_t size = static_cast<size_t>(output.size[1]) * output.size[2];
    for (int i = 0; i < batch().images(); ++i) {
        keepOutput(i, rows + static_cast<size_t>(batch().window(i).first) * batch().dim(), m_tap);
        memory(i).recall(m_tap, output.ptr<float>() + i * size);
    }
    ++m_tap;
}

void ReuseSession::keepOutput(int image, const float* rows, int tap) {
    const FramePlan& plan = *m_images[image].plan;
    const int dim = batch().dim(), special = batch().special();
    ReuseReport& report = m_reports[image].reuse;
    const bool last = tap + 1 == checkedCast<int>(config().taps.size());
    double sum = 0, largest = 0;
    int refreshed = 0;
    for (size_t r = 0; r < m_rows[image].size(); ++r, rows += dim) {
        float* const to = memory(image).output(tap, m_rows[image][r]);
        const int token = m_rows[image][r] - special;
        const bool unchanged = plan.state == ReuseState::Partial && token >= 0 &&
                               token < checkedCast<int>(plan.reasons.size()) &&
                               plan.reasons[token] == ReuseReason::Refreshed;
        if (last && unchanged) {
            const double drift = driftOf(to, rows, dim);
            sum += drift;
            largest = std::max(largest, drift);
            ++refreshed;
        }
        std::copy_n(rows, dim, to);
    }
    if (refreshed == 0) return;
    report.meanDrift = sum / refreshed;
    report.largestDrift = largest;
}

}  // namespace mpm::cpu
