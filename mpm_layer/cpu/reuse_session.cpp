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

// Returns the root mean square of the change, divided by the root mean square of the new row.
double driftOf(const float* before, const float* now, int dim) {
    const double size = kernels::squaredDistance(now, nullptr, dim);
    return size > 0 ? std::sqrt(kernels::squaredDistance(now, before, dim) / size) : 0;
}

}  // namespace

ReuseSession::ReuseSession(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights,
                           const SessionInput& input, const std::vector<RememberedImage>& images)
    : CpuSession(config, std::move(weights), Batch(input, config, tokensOf(images))),
      m_images(images),
      m_keyBias(input.keyBias),
      m_inputs(batch().chosenRows()),
      m_reports(images.size()) {
    const std::vector<Span> spans = batch().imageSpans();
    for (int i = 0; i < batch().images(); ++i) {
        const auto first = m_inputs.begin() + spans[i].first;
        for (auto row = first; row != first + spans[i].rows; ++row)
            *row -= i * batch().inputRows();
    }
}

const float* ReuseSession::keyBiasOf(int image) const {
    const size_t rows = batch().inputRows();
    return m_keyBias.ptr<float>() + (m_keyBias.total() == rows ? 0 : image * rows);
}

// Completes this block, and computes the queries, keys and values of the next block. Uses a single loop,
// because with several loops over few rows, threads would often wait for each other.
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

void ReuseSession::keep(int block, int first, int count) {
    const std::vector<Span> spans = batch().imageSpans();
    for (int i = 0; i < batch().images(); ++i) {
        const int end = spans[i].first + spans[i].rows;
        const int from = std::max(first, spans[i].first), to = std::min(first + count, end);
        if (from < to) memory(i).keep(block, heads(), from, &m_inputs[from], to - from);
    }
}

// Stores padding only in full forwards: the first forward of a stream is full, and padding never changes.
void ReuseSession::keepPadding(int block) {
    if (!config().padding || isGlobal(block)) return;
    eachPadding(block, [&](int window, int number, const float* row) {
        for (int i = 0; i < batch().images(); ++i)
            if (m_images[i].plan->state == ReuseState::Full)
                memory(i).keepPadding(block, window, number, row);
    });
}

void ReuseSession::attend(int block) {
    if (block == 0) {
        beginHeads(batch().imageSpans());
        forEachChunk(batch().rows(), chunkSize(weights().precision, 3 * weights().inner),
                     [&](int first, int count) { project(0, first, count); });
    }
    keepPadding(block);
    std::vector<std::vector<float>> keyBias(batch().images());
    for (int i = 0; i < batch().images() && !m_keyBias.empty(); ++i)
        keyBias[i] = memory(i).keyBias(block, keyBiasOf(i));
    const std::vector<Span> spans = isGlobal(block) ? batch().imageSpans() : batch().windowSpans(false);
    const int spansOfImage = checkedCast<int>(spans.size()) / std::max(1, batch().images());
    struct Task {
        int span, head, first;
    };
    std::vector<Task> tasks;
    for (int s = 0; s < checkedCast<int>(spans.size()); ++s) {
        for (int h = 0; h < weights().heads; ++h) {
            for (int q = 0; q < spans[s].rows; q += kernels::queryPanel())
                tasks.push_back({s, h, q});
        }
    }
    size_t stride = 0;
    float* const output = attendedRows(stride);
    parallelFor(checkedCast<int>(tasks.size()), [&](int t) {
        const Task& task = tasks[t];
        const Span& span = spans[task.span];
        const int image = task.span / spansOfImage;
        const HeadQueries queries{heads(), task.head, span.first, span.rows};
        float* to = output + (span.first + task.first) * stride + task.head * weights().headSize;
        memory(image).attend(block, task.span % spansOfImage, queries, task.first,
                             keyBias[image].empty() ? nullptr : keyBias[image].data(), to, stride);
    });
}

void ReuseSession::emit(bool norm, cv::Mat& output) {
    const float* rows = normedRows(norm);
    const size_t size = static_cast<size_t>(output.size[1]) * output.size[2];
    const std::vector<Span> spans = batch().imageSpans();
    for (int i = 0; i < batch().images(); ++i) {
        keepOutput(i, spans[i], rows);
        memory(i).recall(m_tap, output.ptr<float>() + i * size);
    }
    ++m_tap;
}

void ReuseSession::keepOutput(int image, const Span& span, const float* rows) {
    const FramePlan& plan = *m_images[image].plan;
    const int dim = batch().dim(), special = config().specialRows();
    ReuseReport& report = m_reports[image].reuse;
    const bool last = m_tap + 1 == checkedCast<int>(config().taps.size());
    double sum = 0, largest = 0;
    int refreshed = 0;
    for (int r = span.first; r < span.first + span.rows; ++r) {
        const float* const row = rows + static_cast<size_t>(r) * dim;
        float* const to = memory(image).output(m_tap, m_inputs[r]);
        const int token = m_inputs[r] - special;
        const bool unchanged = plan.state == ReuseState::Partial && token >= 0 &&
                               token < checkedCast<int>(plan.reasons.size()) &&
                               plan.reasons[token] == ReuseReason::Refreshed;
        if (last && unchanged) {
            const double drift = driftOf(to, row, dim);
            sum += drift;
            largest = std::max(largest, drift);
            ++refreshed;
        }
        std::copy_n(row, dim, to);
    }
    if (refreshed == 0) return;
    report.meanDrift = sum / refreshed;
    report.largestDrift = largest;
}

}  // namespace mpm::cpu
