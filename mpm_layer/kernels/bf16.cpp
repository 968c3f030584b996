#include "mpm_layer/kernels/bf16.hpp"

#include <algorithm>
#include <limits>

#include "mpm_layer/kernels/isa.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/bf16.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

#include "mpm_layer/kernels/attention-inl.h"
#include "mpm_layer/kernels/epilogue-inl.h"
#include "mpm_layer/kernels/microkernel-inl.h"
#include "mpm_layer/kernels/tiles-inl.h"

// Highway 1.0 has no target with AVX-512 BF16, later ones have some above AVX3: the instruction is added to
// each of them, and asked for at run time.
// AMX, which the newest of Intel's multiply bf16 with many times faster, likewise.
#if HWY_TARGET <= HWY_AVX3 && defined(__GNUC__) && (__GNUC__ >= 11 || defined(__clang__))
#define MPM_HAS_BF16 1
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16" MPM_TILES_TARGET)
#else
#define MPM_HAS_BF16 0
HWY_BEFORE_NAMESPACE();
#endif

namespace mpm::kernels {
namespace HWY_NAMESPACE {

#if MPM_HAS_BF16

bool HasBf16() {
    return __builtin_cpu_supports("avx512bf16");
}

bool HasTiles() {
#if MPM_HAS_TILES
    static const bool may = HasBf16() && allowsAmx() && mayUseTiles();
    return may;
#else
    return false;
#endif
}

// Pairs of one pass: panel (192 x 32 x 4 = 24 KiB) and row group share a level-1 cache.
constexpr int kPairBlock = 192;

HWY_INLINE __m512i pairUp(__m512 low, __m512 high) {
    // The conversion puts all of `low` before all of `high`; the permutation alternates them.
    HWY_ALIGN static constexpr std::uint16_t kAlternate[] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                             21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                             11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_permutexvar_epi16(_mm512_load_si512(kAlternate), (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

/// As multiplyAdd of f32; strides count pairs.
template <int R, class Ahead = NothingAhead>
HWY_INLINE void multiplyAddPairs(int pairs, const Bf16Pair* HWY_RESTRICT rows, size_t rowStep,
                                 size_t depthStep, const Bf16Pair* HWY_RESTRICT panel, Block<R>& block,
                                 Ahead ahead = {}) {
    constexpr int kBases = (R + 2) / 3;
    const Bf16Pair* base[kBases];
    for (int i = 0; i < kBases; ++i)
        base[i] = rows + 3 * i * rowStep;
    for (int k = 0; k < pairs; ++k) {
        const __m512bh left = (__m512bh)_mm512_loadu_si512(panel);
        const __m512bh right = (__m512bh)_mm512_loadu_si512(panel + 16);
        panel += 32;
        ahead.step();
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const __m512bh row =
                (__m512bh)_mm512_set1_epi32(static_cast<int>(base[r / 3][(r % 3) * rowStep]));
            block.sum[r][0].raw = _mm512_dpbf16_ps(block.sum[r][0].raw, row, left);
            block.sum[r][1].raw = _mm512_dpbf16_ps(block.sum[r][1].raw, row, right);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kBases; ++i)
            base[i] += depthStep;
    }
}

void PackPairs(const float* row, int width, Bf16Pair* pairs) {
    int k = 0;
    auto* out = reinterpret_cast<std::uint16_t*>(pairs);
    for (; k + 16 <= width; k += 16) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + k),
                            (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(row + k)));
    }
    if (k == width) return;
    const int left = width - k;
    const __m512 last = loadPart(row + k, left).raw;
    HWY_ALIGN std::uint16_t lanes[16];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), (__m256i)_mm512_cvtneps_pbh(last));
    std::copy_n(lanes, 2 * pairsOf(left), out + k);
}

void InterleaveRows(const float* first, const float* second, int width, Bf16Pair* pairs) {
    for (int k = 0; k < width; k += 16) {
        const int count = std::min(16, width - k);
        const Float low = loadPart(first + k, count);
        const Float high = second ? loadPart(second + k, count) : hn::Zero(FloatTag());
        const __m512i both = pairUp(low.raw, high.raw);
        if (count == 16) {
            _mm512_storeu_si512(pairs + k, both);
        } else {
            HWY_ALIGN Bf16Pair lanes[16];
            _mm512_store_si512(lanes, both);
            std::copy_n(lanes, count, pairs + k);
        }
    }
}

/// Where sums go as pairs; an odd last column gets a zero.
struct PairTarget {
    Bf16Pair* output;
    size_t stride;

    HWY_INLINE void finish(Block<kGroup>& block, const Epilogue& epilogue, int row, int rows, int column,
                           int columns) const {
        applyEpilogue<GeluCoarse>(epilogue, row, rows, column, columns, block);
        Bf16Pair* to = output + row * stride + column / 2;
#pragma GCC unroll 16
        for (int r = 0; r < kGroup; ++r) {
            if (r >= rows) break;
            store((__m512i)_mm512_cvtne2ps_pbh(block.sum[r][1].raw, block.sum[r][0].raw), to + r * stride,
                  columns);
        }
    }

private:
    static HWY_INLINE void store(__m512i pairs, Bf16Pair* to, int columns) {
        if (columns >= 32) {
            _mm512_storeu_si512(to, pairs);
        } else {
            HWY_ALIGN Bf16Pair lanes[16];
            _mm512_store_si512(lanes, pairs);
            std::copy_n(lanes, pairsOf(columns), to);
        }
    }
};

template <class Target>
HWY_INLINE void multiplyBf16(const Bf16Pair* rows, size_t rowStride, int count,
                             const PackedWeightsBf16& weights, const Epilogue& epilogue,
                             const Target& target) {
    static thread_local Buffer scratch;
    const int width = static_cast<int>(panelWidth()), groups = (count + kGroup - 1) / kGroup;
    const int pairs = pairsOf(weights.depth());
    float* partial = scratch.reserve(static_cast<size_t>(groups) * kGroup * width);
    for (int column = 0, p = 0; column < weights.columns(); column += width, ++p) {
        for (int start = 0; start < pairs; start += kPairBlock) {
            const int depth = std::min(kPairBlock, pairs - start);
            for (int g = 0; g < groups; ++g) {
                Block<kGroup> block;
                float* sums = partial + static_cast<size_t>(g) * kGroup * width;
                if (start == 0) {
                    clearBlock(block);
                } else {
                    loadBlock(sums, width, block);
                }
                const Bf16Pair* own = weights.panel(p) + static_cast<size_t>(start) * width;
                const size_t share = static_cast<size_t>(depth) * width / groups;
                const PanelAhead ahead(own + depth * width + g * share, share * sizeof(Bf16Pair), depth);
                multiplyAddPairs<kGroup>(depth, rows + g * kGroup * rowStride + start, rowStride, 1, own,
                                         block, ahead);
                if (start + depth < pairs) {
                    storeBlock(block, sums, width);
                } else {
                    target.finish(block, epilogue, g * kGroup, std::min(kGroup, count - g * kGroup), column,
                                  weights.columns() - column);
                }
            }
        }
    }
}

#if MPM_HAS_TILES

/// As multiplyBf16, where tiles fit the depth.
template <class Target>
HWY_INLINE void multiplyBf16Tiles(const Bf16Pair* rows, size_t rowStride, int count,
                                  const PackedWeightsBf16& weights, const Epilogue& epilogue,
                                  const Target& target) {
    static thread_local Buffer scratch;
    const int width = static_cast<int>(panelWidth()), groups = (count + kGroup - 1) / kGroup;
    constexpr int kRows = 2 * kTileRows;
    const int pairs = pairsOf(weights.depth()), blocks = (count + kRows - 1) / kRows;
    float* sums = scratch.reserve(static_cast<size_t>(std::max(blocks * kRows, groups * kGroup)) * width);
    const TileScope tiles;
    finishWrites();
    for (int column = 0, p = 0; column < weights.columns(); column += width, ++p) {
        for (int start = 0; start < pairs; start += kPairBlock) {
            const int depth = std::min(kPairBlock, pairs - start);
            const Bf16Pair* own = weights.panel(p) + static_cast<size_t>(start) * width;
            const size_t share = static_cast<size_t>(depth) * width * sizeof(Bf16Pair) / blocks;
            for (int b = 0; b < blocks; ++b) {
                const LinesAhead ahead(reinterpret_cast<const char*>(own + depth * width) + b * share, share,
                                       depth / kTilePairs);
                multiplyTiles(depth, rows + static_cast<size_t>(b) * kRows * rowStride + start, rowStride,
                              own, start == 0, sums + static_cast<size_t>(b) * kRows * width, width, ahead);
            }
        }
        for (int g = 0; g < groups; ++g) {
            Block<kGroup> block;
            loadBlock(sums + static_cast<size_t>(g) * kGroup * width, width, block);
            target.finish(block, epilogue, g * kGroup, std::min(kGroup, count - g * kGroup), column,
                          weights.columns() - column);
        }
    }
}

#endif

/// In tiles where the processor has them and they divide the depth; the choice is the weights', never the
/// rows', so that a row's bits do not depend on how many there are.
template <class Target>
HWY_INLINE void multiply(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                         const Epilogue& epilogue, const Target& target) {
#if MPM_HAS_TILES
    if (HasTiles() && weights.depth() % (2 * kTilePairs) == 0)
        return multiplyBf16Tiles(rows, rowStride, count, weights, epilogue, target);
#endif
    multiplyBf16(rows, rowStride, count, weights, epilogue, target);
}

void ProductBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, float* output, size_t outputStride) {
    multiply(rows, rowStride, count, weights, epilogue, FloatTarget{output, outputStride});
}

void ProductToPairs(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                    const Epilogue& epilogue, Bf16Pair* output, size_t outputStride) {
    multiply(rows, rowStride, count, weights, epilogue, PairTarget{output, outputStride});
}

// `rows` holds panelWidth() rows of pairsOf(headSize).
HWY_INLINE void packQueryPairs(const AttentionHead& head, int first, Bf16Pair* rows, Bf16Pair* packed) {
    const int present = std::min(static_cast<int>(panelWidth()), head.tokens - first);
    const int pairs = pairsOf(head.headSize);
    const Float scale = hn::Set(FloatTag(), head.scale * kLog2E);
    HWY_ALIGN float scaled[16];
    for (int q = 0; q < present; ++q) {
        const float* from = head.queries + (first + q) * head.stride;
        for (int k = 0; k < head.headSize; k += 16) {
            const int count = std::min(16, head.headSize - k);
            hn::Store(hn::Mul(loadPart(from + k, count), scale), FloatTag(), scaled);
            PackPairs(scaled, count, rows + q * pairs + k / 2);
        }
    }
    packColumns(rows, pairs, present, pairs, packed);
}

/// 2^x, relative error below 8e-5: for what is rounded to bf16, to one part in 512, next. scalef takes the
/// whole part of x for itself, and 0 for minus infinity.
HWY_INLINE Float exp2Coarse(Float x) {
    static constexpr float kTerms[] = {0.99992522f, 0.695833529f, 0.226067168f, 0.0780245231f};
    const Float part{_mm512_reduce_ps(x.raw, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
    return Float{_mm512_scalef_ps(horner(part, kTerms).raw, x.raw)};
}

// Keys of one pass: weights (480 x 32 x 2 = 30 KiB) stay in the level-1 cache until their values are added.
constexpr int kKeyBlockBf16 = 40 * kGroup;

/// A block's scores become weights, two keys at a time, in the order the product with V takes.
HWY_INLINE void weighScorePairs(const Block<kGroup>& block, Panel& panel, Bf16Pair* weights) {
    static_assert(kGroup % 2 == 0, "pairs of keys must not straddle groups");
    const FloatTag d;
    const size_t width = panelWidth();
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
        Float total[2] = {hn::Zero(d), hn::Zero(d)};
#pragma GCC unroll 16
        for (int r = 0; r < kGroup; r += 2) {
            const Float low = exp2Coarse(hn::Sub(block.sum[r][half], panel.peak[half]));
            const Float high = exp2Coarse(hn::Sub(block.sum[r + 1][half], panel.peak[half]));
            _mm512_store_si512(weights + r / 2 * width + half * width / 2, pairUp(low.raw, high.raw));
            total[0] = hn::Add(total[0], low);
            total[1] = hn::Add(total[1], high);
        }
        panel.total[half] = hn::Add(panel.total[half], hn::Add(total[0], total[1]));
    }
}

template <int R>
HWY_INLINE void addValuePairs(const AttentionHeadBf16& head, int start, int count, int column,
                              const Bf16Pair* weights, float* output) {
    const size_t width = panelWidth();
    Block<R> block;
    loadBlock(output + column * width, width, block);
    multiplyAddPairs<R>(pairsOf(count), head.values + start / 2 * head.valueStride + column, 1,
                        head.valueStride, weights, block);
    storeBlock(block, output + column * width, width);
}

HWY_NOINLINE void addValuePairs(const AttentionHeadBf16& head, int start, int count, const Bf16Pair* weights,
                                float* output) {
    int column = 0;
    const auto left = [&] { return head.f32.headSize - column; };
    for (; left() >= kGroup && left() != 16; column += kGroup)
        addValuePairs<kGroup>(head, start, count, column, weights, output);
    for (; left() >= 8; column += 8)
        addValuePairs<8>(head, start, count, column, weights, output);
    for (; left() >= 4; column += 4)
        addValuePairs<4>(head, start, count, column, weights, output);
    for (; left() >= 1; column += 1)
        addValuePairs<1>(head, start, count, column, weights, output);
}

bool TilesFit(int headSize) {
    return headSize % (2 * 16) == 0;
}

#if MPM_HAS_TILES

// Keys whose scores are looked at together: sums of tiles are grouped by 32 keys, and which keys are grouped
// must not depend on the queries beside one.
constexpr int kKeyChunk = 96;
static_assert(kKeyChunk % kGroup == 0 && kKeyChunk % (2 * kTileRows) == 0 && kKeyBlockBf16 % kKeyChunk == 0);

/// Scores [kKeyChunk][32] of `present` keys from `key`, whole groups of them; returns their maxima.
HWY_INLINE void scoreTiles(const AttentionHeadBf16& head, int key, int present, const Bf16Pair* queries,
                           float* scores, Float (&highest)[2]) {
    constexpr int kRows = 2 * kTileRows;
    const size_t width = panelWidth();
    for (int row = 0; row < present; row += kRows) {
        multiplyTiles(pairsOf(head.f32.headSize), head.keys + (key + row) * head.keyStride, head.keyStride,
                      queries, true, scores + row * width, width);
    }
    highest[0] = highest[1] = hn::Set(FloatTag(), -std::numeric_limits<float>::infinity());
    for (int at = 0; at < present; at += kGroup) {
        const int here = std::min(kGroup, present - at);
        Block<kGroup> block, bias;
        loadBlock(scores + at * width, width, block);
        if (head.f32.keyBias) {
            startScores(head.f32, key + at, here, bias);
#pragma GCC unroll 16
            for (int r = 0; r < kGroup; ++r) {
                block.sum[r][0] = hn::Add(block.sum[r][0], bias.sum[r][0]);
                block.sum[r][1] = hn::Add(block.sum[r][1], bias.sum[r][1]);
            }
        }
        if (here < kGroup) hideMissing(here, block);
        if (head.f32.keyBias || here < kGroup) storeBlock(block, scores + at * width, width);
        highest[0] = hn::Max(highest[0], highestScore(block, 0));
        highest[1] = hn::Max(highest[1], highestScore(block, 1));
    }
}

/// Adds the values of `count` keys from `start`, whose weights lie in whole tiles.
HWY_INLINE void addValueTiles(const AttentionHeadBf16& head, int start, int count, Bf16Pair* weights,
                              float* output) {
    const size_t width = panelWidth();
    const int pairs = pairsOf(count), whole = (pairs + kTilePairs - 1) / kTilePairs * kTilePairs;
    // Groups end where tiles need not.
    std::fill(weights + pairs * width, weights + whole * width, 0u);
    finishWrites();
    for (int column = 0; column < head.f32.headSize; column += 2 * kTileRows) {
        multiplyTiles(whole, head.values + column * head.valueStride + start / 2, head.valueStride, weights,
                      false, output + column * width, width);
    }
}

HWY_NOINLINE void attendPanelTiles(const AttentionHeadBf16& head, int first, float* output,
                                   size_t outputStride) {
    static thread_local Buffer scratch;
    const AttentionHead& f32 = head.f32;
    const size_t width = panelWidth(), out = static_cast<size_t>(f32.headSize) * width,
                 query = pairsOf(f32.headSize) * width;
    float* memory = scratch.reserve(out + kKeyChunk * width + query +
                                    std::max((kKeyBlockBf16 / 2 + kTilePairs) * width, query));
    float* scores = memory + out;
    auto* queries = reinterpret_cast<Bf16Pair*>(scores + kKeyChunk * width);
    Bf16Pair* weights = queries + query;
    Panel panel(memory);
    packQueryPairs(f32, first, weights, queries);  // the weights come later
    std::fill(panel.output, panel.output + out, 0.0f);
    const TileScope tiles;
    finishWrites();
    int waiting = 0;
    for (int key = 0; key < f32.tokens; key += kKeyChunk) {
        const int present = std::min(kKeyChunk, f32.tokens - key);
        Float highest[2];
        scoreTiles(head, key, present, queries, scores, highest);
        const bool higher = exceeds(highest, panel);
        if (waiting > 0 && (higher || waiting == kKeyBlockBf16)) {
            addValueTiles(head, key - waiting, waiting, weights, panel.output);
            waiting = 0;
        }
        if (higher) raisePeaks(highest, f32.headSize, panel);
        for (int at = 0; at < present; at += kGroup) {
            Block<kGroup> block;
            loadBlock(scores + at * width, width, block);
            weighScorePairs(block, panel, weights + (waiting + at) / 2 * width);
        }
        waiting += present;
    }
    addValueTiles(head, f32.tokens - waiting, waiting, weights, panel.output);
    writeOutput(f32, first, panel, output, outputStride);
}

#endif

void PackValues(const float* rows, size_t stride, int tokens, int columns, bool asColumns, Bf16Pair* packed,
                size_t packedStride) {
    static thread_local Buffer scratch;
    const size_t width = panelWidth();
    const int pairs = pairsOf(tokens);
    float* memory = scratch.reserve(2 * width * columns);
    auto* between = reinterpret_cast<Bf16Pair*>(memory);
    for (int p = 0; p < pairs; ++p) {
        const float* row = rows + 2 * p * stride;
        interleaveRows(row, 2 * p + 1 < tokens ? row + stride : nullptr, columns,
                       asColumns ? between + static_cast<size_t>(p) * columns : packed + p * packedStride);
    }
    if (!asColumns) return;
    Bf16Pair* panel = between + width * columns;
    packColumns(between, columns, pairs, columns, panel);
    for (int c = 0; c < columns; ++c)
        std::copy_n(panel + c * width, width, packed + c * packedStride);
}

void AttendPanelBf16(const AttentionHeadBf16& head, int first, float* output, size_t outputStride) {
#if MPM_HAS_TILES
    if (head.valuesAreColumns) return attendPanelTiles(head, first, output, outputStride);
#endif
    static thread_local Buffer scratch;
    const AttentionHead& f32 = head.f32;
    const int pairs = pairsOf(f32.headSize);
    const size_t width = panelWidth(), out = static_cast<size_t>(f32.headSize) * width, query = pairs * width;
    float* memory = scratch.reserve(out + query + std::max(kKeyBlockBf16 / 2 * width, query));
    auto* queries = reinterpret_cast<Bf16Pair*>(memory + out);
    Bf16Pair* weights = queries + query;
    Panel panel(memory);
    packQueryPairs(f32, first, weights, queries);  // the weights come later
    std::fill(panel.output, panel.output + out, 0.0f);
    attendKeys(
        f32, kKeyBlockBf16, panel,
        [&](int key, Block<kGroup>& block) HWY_ATTR {
            multiplyAddPairs<kGroup>(pairs, head.keys + key * head.keyStride, head.keyStride, 1, queries,
                                     block);
        },
        [&](const Block<kGroup>& block, int at)
            HWY_ATTR { weighScorePairs(block, panel, weights + at / 2 * width); },
        [&](int key, int count) HWY_ATTR { addValuePairs(head, key, count, weights, panel.output); });
    writeOutput(f32, first, panel, output, outputStride);
}

#else  // without the instruction: never called, since HasBf16 says so

bool HasBf16() {
    return false;
}
void PackPairs(const float*, int, Bf16Pair*) {}
void InterleaveRows(const float*, const float*, int, Bf16Pair*) {}
void ProductBf16(const Bf16Pair*, size_t, int, const PackedWeightsBf16&, const Epilogue&, float*, size_t) {}
void ProductToPairs(const Bf16Pair*, size_t, int, const PackedWeightsBf16&, const Epilogue&, Bf16Pair*,
                    size_t) {}
void AttendPanelBf16(const AttentionHeadBf16&, int, float*, size_t) {}
bool HasTiles() {
    return false;
}
bool TilesFit(int) {
    return false;
}
void PackValues(const float*, size_t, int, int, bool, Bf16Pair*, size_t) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels

#undef MPM_HAS_BF16

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(HasBf16);
HWY_EXPORT(PackPairs);
HWY_EXPORT(InterleaveRows);
HWY_EXPORT(ProductBf16);
HWY_EXPORT(ProductToPairs);
HWY_EXPORT(AttendPanelBf16);
HWY_EXPORT(HasTiles);
HWY_EXPORT(TilesFit);
HWY_EXPORT(PackValues);

bool hasBf16() {
    static const bool has = HWY_DYNAMIC_DISPATCH(HasBf16)();
    return has;
}

void packPairs(const float* row, int width, Bf16Pair* pairs) {
    HWY_DYNAMIC_DISPATCH(PackPairs)(row, width, pairs);
}

void interleaveRows(const float* first, const float* second, int width, Bf16Pair* pairs) {
    HWY_DYNAMIC_DISPATCH(InterleaveRows)(first, second, width, pairs);
}

PackedWeightsBf16::PackedWeightsBf16(const float* weights, size_t stride, int depth, int columns)
    : m_depth(depth), m_columns(columns) {
    const int width = panelColumns(), panels = (columns + width - 1) / width, pairs = pairsOf(depth);
    auto* to = reinterpret_cast<Bf16Pair*>(m_data.reserve(static_cast<size_t>(panels) * width * pairs));
    for (int p = 0; p < panels; ++p) {
        const int present = std::min(width, columns - p * width);
        for (int k = 0; k < depth; k += 2, to += width) {
            const float* first = weights + k * stride + static_cast<size_t>(p) * width;
            std::fill(to, to + width, 0u);
            interleaveRows(first, k + 1 < depth ? first + stride : nullptr, present, to);
        }
    }
}

const Bf16Pair* PackedWeightsBf16::panel(int index) const {
    const auto* data = reinterpret_cast<const Bf16Pair*>(m_data.data());
    return data + static_cast<size_t>(index) * panelColumns() * pairsOf(m_depth);
}

void productBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, float* output, size_t outputStride) {
    HWY_DYNAMIC_DISPATCH(ProductBf16)(rows, rowStride, count, weights, epilogue, output, outputStride);
}

void productBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, Bf16Pair* output, size_t outputStride) {
    HWY_DYNAMIC_DISPATCH(ProductToPairs)(rows, rowStride, count, weights, epilogue, output, outputStride);
}

bool takesValuesAsColumns(int headSize) {
    return HWY_DYNAMIC_DISPATCH(HasTiles)() && HWY_DYNAMIC_DISPATCH(TilesFit)(headSize);
}

void packValues(const float* rows, size_t stride, int tokens, int columns, bool asColumns, Bf16Pair* packed,
                size_t packedStride) {
    HWY_DYNAMIC_DISPATCH(PackValues)(rows, stride, tokens, columns, asColumns, packed, packedStride);
}

void attendPanelBf16(const AttentionHeadBf16& head, int first, float* output, size_t outputStride) {
    HWY_DYNAMIC_DISPATCH(AttendPanelBf16)(head, first, output, outputStride);
}

}  // namespace mpm::kernels
#endif
