#include "mpm_layer/cpu/cpu_session.hpp"

#include <algorithm>
#include <cmath>

#include "base/loops.hpp"
#include "base/stopwatch.hpp"
#include "mpm_layer/cpu/chunks.hpp"
#include "mpm_layer/kernels/tokens/rows.hpp"

namespace mpm::cpu {

// Buffers that grow to the size of the largest batch. Each calling thread has separate buffers: parallel
// forwards then do not share memory, and a repeated forward finds the memory in the caches.
struct CpuSession::Workspace {
    kernels::Buffer qkv;       // memory of HeadRows
    kernels::Buffer attended;  // [rows][paddedStride(inner)]
    AttentionScratch attention;

    static Workspace& ofThread() {
        static thread_local Workspace workspace;
        return workspace;
    }
};

namespace {

// The temporary memory of a thread for a chunk of rows: first for the input of attention, then for the hidden
// layer.
struct ChunkScratch {
    kernels::Buffer input;  // normalised rows
    kernels::Buffer wide;   // queries, keys and values, or the hidden layer
    kernels::Buffer gate, unscaled;

    static ChunkScratch& ofThread() {
        static thread_local ChunkScratch scratch;
        return scratch;
    }
};

void normalise(const Norm& norm, const float* in, const NormRule& rule, int width, float* out) {
    kernels::normaliseRow(in, width, norm.weightData(), norm.biasData(), rule, out);
}

// Fills `rows` with rows of the batch, normalised if `norm` is present.
void fillNormalised(const Norm& norm, const Batch& batch, int first, const NormRule& rule, LeftRows& rows) {
    for (int r = 0; r < rows.count(); ++r) {
        rows.fill(r, [&](float* to) {
            if (norm.present) {
                normalise(norm, batch.row(first + r), rule, batch.dim(), to);
            } else {
                std::copy_n(batch.row(first + r), batch.dim(), to);
            }
        });
    }
}

kernels::Epilogue residual(const std::vector<float>& scale) {
    kernels::Epilogue epilogue;
    epilogue.scale = scale.empty() ? nullptr : scale.data();
    epilogue.add = true;
    return epilogue;
}

}  // namespace

CpuSession::CpuSession(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights,
                       const SessionInput& input)
    : CpuSession(config, std::move(weights), Batch(input, config)) {
    m_proportional = input.reducer && input.reducer->biasesBySize();
    if (!input.keepsKeys.empty()) m_keepsKeys = input.keepsKeys;
    m_keepsRotated = input.reducer && input.reducer->metric() == Metric::Keys;
    if (input.maps.empty()) return;
    const Stopwatch watch;
    m_batch.apply(m_batch.byWindow(input.maps, config.firstBlock), Mean::Plain, config.firstBlock);
    m_mergeMs += watch.milliseconds();
}

CpuSession::CpuSession(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights, Batch batch)
    : m_config(config),
      m_weights(std::static_pointer_cast<const CpuEncoder>(weights)),
      m_batch(std::move(batch)),
      m_keepsKeys(config.blocks, false),
      m_workspace(Workspace::ofThread()) {
    int number = config.firstBlock;
    for (const Block& block : m_weights->blocks)
        m_rotatesByWindow.push_back(
            rotatesByWindow(config, number++, block.rotary.positions, m_batch.inputTokens()));
}

void CpuSession::attend(int index) {
    if (m_keepsKeys[index]) m_lastKeys.resize(static_cast<size_t>(m_batch.rows()) * m_weights->headSize);
    beginHeads(isGlobal(index) ? m_batch.imageSpans() : m_batch.windowSpans(m_config.padding));
    forEachChunk(m_batch.rows(), chunkSize(m_weights->precision, 3 * m_weights->inner),
                 [&](int first, int count) { projectIn(index, first, count); });
    padHeads(index);
    attendAll();
    if (m_config.parallel) feedAll(index);  // the MLP reads the rows without the output of attention
    forEachChunk(m_batch.rows(), chunkSize(m_weights->precision),
                 [&](int first, int count) { projectOut(index, first, count); });
}

void CpuSession::beginHeads(std::vector<Span> spans) {
    m_spans = std::move(spans);
    m_heads.emplace(m_workspace.qkv, *m_weights, m_spans);
}

void CpuSession::projectIn(int index, int first, int count) {
    const Block& block = m_weights->blocks[index];
    ChunkScratch& scratch = ChunkScratch::ofThread();
    LeftRows rows(scratch.input, block.qkv.precision(), count, m_batch.dim());
    fillNormalised(block.norm1, m_batch, first, m_config.norm, rows);
    const bool finishes =
        block.qNorm.present || block.kNorm.present || block.rotary.present() || m_keepsKeys[index];
    if (!finishes && m_heads->takesPairs() && block.qkv.writesPairs()) {
        kernels::Epilogue epilogue;
        epilogue.scale = m_weights->qkvFactors.data();
        return block.qkv.apply(rows, epilogue, m_heads->pairs(first));
    }
    m_heads->fill(first, count, scratch.wide, [&](float* qkv, size_t stride) {
        block.qkv.apply(rows, {}, qkv, stride);
        if (finishes) finishHeads(index, first, count, qkv, stride);
    });
}

void CpuSession::padHeads(int index) {
    if (m_heads->count() == m_batch.rows()) return;
    eachPadding(index, [&](int window, int number, const float* row) {
        for (int w = window; w < m_batch.windows(); w += m_batch.division().count())
            m_heads->put(m_spans[w].firstKey + m_spans[w].rows + number, row);
    });
}

// Rows of padding are zero before the product, so the product of each of these rows is only the bias.
void CpuSession::eachPadding(int index, const std::function<void(int, int, const float*)>& visit) const {
    const Block& block = m_weights->blocks[index];
    ChunkScratch& scratch = ChunkScratch::ofThread();
    const size_t stride = kernels::paddedStride(3 * m_weights->inner);
    LeftRows zeros(scratch.input, block.qkv.precision(), 1, m_batch.dim());
    zeros.fill(0, [&](float* row) { std::fill_n(row, m_batch.dim(), 0.0f); });
    const float* const bias = scratch.wide.reserve(kernels::paddedSize(1, stride));
    block.qkv.apply(zeros, {}, scratch.wide.data(), stride);
    parallelFor(m_batch.division().count(), [&](int w) {
        std::vector<float> row(3 * m_weights->inner);
        int number = 0;
        for (const int place : m_batch.division().padding(w)) {
            std::copy_n(bias, row.size(), row.begin());
            normHeads(block, row.data());
            if (block.rotary.present()) rotate(block.rotary, place, row.data() + m_weights->inner);
            visit(w, number++, row.data());
        }
    });
}

void CpuSession::normHeads(const Block& block, float* qkv) const {
    const int size = m_weights->headSize, inner = m_weights->inner;
    for (float* q = qkv; q < qkv + inner; q += size) {
        float* k = q + inner;
        if (block.qNorm.present) normalise(block.qNorm, q, m_config.innerNorm, size, q);
        if (block.kNorm.present) normalise(block.kNorm, k, m_config.innerNorm, size, k);
    }
}

void CpuSession::finishHeads(int index, int first, int count, float* qkv, size_t stride) {
    const Block& block = m_weights->blocks[index];
    const int size = m_weights->headSize, inner = m_weights->inner;
    for (int r = 0; r < count; ++r) {
        float* q = qkv + r * stride;
        float* k = q + inner;
        const auto keepKeys = [&] {
            kernels::meanOverHeads(k, m_weights->heads, size,
                                   &m_lastKeys[static_cast<size_t>(first + r) * size]);
        };
        normHeads(block, q);
        if (m_keepsKeys[index] && !m_keepsRotated) keepKeys();
        int angle = m_batch.position(first + r);
        if (block.rotary.present() && angle >= 0) {
            if (m_rotatesByWindow[index]) angle = m_batch.division().place(angle);
            rotate(block.rotary, angle, q);
            rotate(block.rotary, angle, k);
        }
        if (m_keepsKeys[index] && m_keepsRotated) keepKeys();
    }
}

void CpuSession::rotate(const RotaryTables& tables, int angle, float* heads) const {
    const int size = m_weights->headSize;
    for (int h = 0; h < m_weights->heads; ++h, heads += size) {
        const int table = tables.tables == 1 ? 0 : h;
        const size_t at = (static_cast<size_t>(table) * tables.positions + angle) * size;
        const auto turn =
            m_config.rotary == Rotary::Interleaved ? kernels::rotateInterleaved : kernels::rotateHalves;
        turn(heads, &tables.cosine[at], &tables.sine[at], size);
    }
}

void CpuSession::attendAll() {
    std::vector<float> keyBias;
    if (m_batch.hasKeyBias() || m_proportional) {
        keyBias.assign(m_heads->count(), 0.0f);
        for (int r = 0; r < m_batch.rows(); ++r) {
            float& bias = keyBias[m_heads->keyOf(r)];
            if (m_batch.hasKeyBias()) bias = m_batch.keyBias()[r];
            if (m_proportional) bias += std::log(m_batch.sizes()[r]);
        }
    }
    size_t stride = 0;
    float* const out = attendedRows(stride);
    Attention(*m_weights, m_spans, *m_heads, keyBias.empty() ? nullptr : keyBias.data(),
              m_workspace.attention)
        .run(out, stride);
}

float* CpuSession::attendedRows(size_t& stride) {
    stride = kernels::paddedStride(m_weights->inner);
    return m_workspace.attended.reserve(kernels::paddedSize(m_batch.rows(), stride));
}

void CpuSession::projectOut(int index, int first, int count) {
    const Block& block = m_weights->blocks[index];
    const int inner = m_weights->inner;
    const size_t stride = kernels::paddedStride(inner);
    float* rows = m_workspace.attended.data() + first * stride;
    for (int r = 0; r < count && block.attentionNorm.present; ++r)
        normalise(block.attentionNorm, rows + r * stride, m_config.innerNorm, inner, rows + r * stride);
    block.projection.apply(rows, stride, count, residual(block.scale1), m_batch.row(first), m_batch.dim());
}

void CpuSession::runMlp(int index) {
    if (!m_config.parallel) feedAll(index);
}

void CpuSession::feedAll(int index) {
    forEachChunk(m_batch.rows(), chunkSize(m_weights->precision, m_weights->blocks[index].fc1.columns()),
                 [&](int first, int count) { feed(index, first, count); });
}

void CpuSession::feed(int index, int first, int count) {
    const Block& block = m_weights->blocks[index];
    ChunkScratch& scratch = ChunkScratch::ofThread();
    const int width = block.fc1.columns();
    const size_t stride = kernels::paddedStride(width);
    LeftRows rows(scratch.input, block.fc1.precision(), count, m_batch.dim());
    fillNormalised(block.norm2, m_batch, first, m_config.norm, rows);
    kernels::Epilogue epilogue;
    epilogue.activation = m_config.activation;
    if (block.gate.present()) {
        float* g = scratch.gate.reserve(kernels::paddedSize(count, stride));
        block.gate.apply(rows, epilogue, g, stride);
        epilogue.activation = kernels::Activation::None;
        epilogue.gate = g;
        epilogue.gateStride = stride;
    }
    LeftRows h(scratch.wide, block.fc2.precision(), count, width, block.fc2.least());
    if (block.mlpNorm.present) {
        float* raw = scratch.unscaled.reserve(kernels::paddedSize(count, stride));
        block.fc1.apply(rows, epilogue, raw, stride);
        for (int r = 0; r < count; ++r)
            h.fill(r, [&](float* to) {
                normalise(block.mlpNorm, raw + r * stride, m_config.innerNorm, width, to);
            });
    } else {
        block.fc1.apply(rows, epilogue, h);
    }
    block.fc2.apply(h, residual(block.scale2), m_batch.row(first), m_batch.dim());
}

RowsView CpuSession::metricOf(const StageRequest& request, int window, std::vector<float>& keys) const {
    const Metric metric = request.reducer->metric();
    const RowsView tokens = m_batch.tokens(window);
    if (metric == Metric::Tokens) return tokens;
    const int size = m_weights->headSize;
    const float* data = nullptr;
    const bool attended = metric == Metric::LastKeys || request.reducer->moment() == Moment::AfterAttention;
    if (attended && m_heads) {
        // Uses data() + offset, not &m_lastKeys[offset]: if the window has no tokens, the address may be one
        // past the end.
        data =
            m_lastKeys.data() + static_cast<size_t>(m_batch.window(window).first + m_batch.special()) * size;
    } else {
        keys.resize(static_cast<size_t>(tokens.count) * size);
        m_weights->stageKeys[request.block - m_config.firstBlock].compute(tokens, keys.data());
        data = keys.data();
    }
    return {data, static_cast<size_t>(size), tokens.count, size};
}

// Passes each window to the reducer as a separate image.
std::vector<MergeMap> CpuSession::decide(const StageRequest& request) {
    if (request.imposed) return m_batch.byWindow(request.imposedMaps(m_batch.images()), request.block);
    if (m_batch.images() == 0) return {};
    std::vector<StageContext> contexts(m_batch.windows());
    std::vector<std::vector<float>> metrics(m_batch.windows());
    parallelParts(m_batch.windows(), [&](int w) {
        StageContext& context = contexts[w];
        context.tokens = m_batch.tokens(w);
        context.metric = metricOf(request, w, metrics[w]);
        context.sizes = m_batch.sizes() + m_batch.window(w).first + m_batch.special();
        context.grid = m_batch.division().grid(w % m_batch.division().count());
        context.composed = &m_batch.window(w).composed;
        context.special = m_batch.special();
        context.blocks = m_config.blocksOfChain();
        context.stage = request.stage;
        context.block = request.block;
    });
    return request.reducer->reduce(contexts);
}

void CpuSession::reduce(const StageRequest& request) {
    const Stopwatch watch;
    m_batch.apply(decide(request), request.reducer->mean(), request.block);
    m_mergeMs += watch.milliseconds();
}

// Applies the norm before tokens are restored, because there are fewer merged rows than tokens.
const float* CpuSession::normedRows(bool norm) {
    if (!norm) return m_batch.row(0);
    static thread_local kernels::Buffer normed;
    const int dim = m_batch.dim();
    float* const rows = normed.reserve(static_cast<size_t>(m_batch.rows()) * dim);
    parallelFor(m_batch.rows(), [&](int r) {
        normalise(m_weights->finalNorm, m_batch.row(r), m_config.finalNorm, dim,
                  rows + static_cast<size_t>(r) * dim);
    });
    return rows;
}

void CpuSession::emit(bool norm, cv::Mat& output) {
    const int dim = m_batch.dim();
    const float* const source = normedRows(norm);
    const Stopwatch watch;
    const std::vector<int> rows = m_batch.restored();
    float* const to = output.ptr<float>();
    parallelFor(static_cast<int>(rows.size()), [&](int r) {
        std::copy_n(source + static_cast<size_t>(rows[r]) * dim, dim, to + static_cast<size_t>(r) * dim);
    });
    m_restoreMs += watch.milliseconds();
}

}  // namespace mpm::cpu
