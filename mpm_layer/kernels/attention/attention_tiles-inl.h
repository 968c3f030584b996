// Attention in AMX tiles: queries, keys, weights and values are pairs of bf16.

#if defined(MPM_KERNELS_ATTENTION_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_ATTENTION_TILES_INL_H_
#undef MPM_KERNELS_ATTENTION_TILES_INL_H_
#else
#define MPM_KERNELS_ATTENTION_TILES_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "mpm_layer/kernels/attention/attention-inl.h"
#include "mpm_layer/kernels/attention/value_pairs-inl.h"
#include "mpm_layer/kernels/product/pairs-inl.h"
#include "mpm_layer/kernels/product/tiles-inl.h"

#if MPM_HAS_TILES

HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16" MPM_TILES_TARGET)
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// The number of keys in a block, and the number of keys in a piece of a block. While the vector units turn a
// block's scores into weights, the tile unit multiplies queries by the next block's keys, and weights by the
// values of earlier blocks. The processor overlaps only instructions that are at most a few hundred
// instructions apart. So the code alternates steps of the tile unit with pieces of the block.
constexpr int kTileKeys = 2 * kTileRows, kPieceKeys = 8, kPieces = kTileKeys / kPieceKeys;
// The number of blocks in a group. A single product multiplies the values of a group's keys by their weights.
constexpr int kTogether = 2;

/// The memory for a panel of queries, small enough for the level-1 cache.
struct TileMemory {
    HWY_INLINE TileMemory(Buffer& buffer, int headSize) {
        const size_t width = panelWidth(), size = static_cast<size_t>(headSize) * width;
        output = buffer.reserve(size + (2 + kTogether) * kTileKeys * width + size / 2);
        scores = output + size;
        weights = reinterpret_cast<Bf16Pair*>(scores + 2 * kTileKeys * width);
        queries = weights + kTogether * kTileKeys * width;
    }

    HWY_INLINE float* scoresOf(int block) const { return scores + block % 2 * kTileKeys * panelWidth(); }

    float* output;      // [headSize][32], transposed
    float* scores;      // two blocks, each [32][32]
    Bf16Pair* weights;  // two groups of blocks, each [kTogether * 16][32]
    Bf16Pair* queries;  // [headSize / 2][32]
};

struct KeyGroup {
    int first = 0, blocks = 0;
    Bf16Pair* weights = nullptr;
};

/// The products that the tile unit must still compute: first the scores of a block, then the weighted values
/// of a group. A product runs in steps. A step has four quarters, one for each tile of sums.
class TileSteps {
public:
    HWY_INLINE TileSteps(const AttentionHeadBf16& head, const TileMemory& memory)
        : m_head(head), m_memory(memory), m_depth(head.f32.headSize / kTileKeys), m_column(m_depth) {}

    HWY_INLINE void setScores(int block) { m_block = block; }
    HWY_INLINE void setValues(const KeyGroup& group) {
        m_group = group;
        m_column = group.blocks > 0 ? 0 : m_depth;
    }
    /// Returns the number of steps to run during a block: all remaining steps for scores, and an equal share
    /// of the remaining steps for values. `blocks` is the number of blocks that share the steps for values.
    HWY_INLINE int share(int blocks) const {
        const int columns = (m_depth - m_column + blocks - 1) / blocks;
        const int values = columns * m_group.blocks;  // fits: a part of a head's tiles
        return (m_block < 0 ? 0 : m_depth) + values;
    }

    HWY_INLINE void run(int steps) {
        for (int i = 0; i < steps; ++i) {
            if (!begin()) break;
            quarter<0>();
            quarter<1>();
            quarter<2>();
            quarter<3>();
        }
    }
    /// Starts the next product if none is in progress. Returns false if no product is left.
    HWY_INLINE bool begin() { return m_left > 0 || open(); }

    template <int kQuarter>
    HWY_INLINE void quarter() {
        finishWrites();
        quarterStep<PairTiles, kQuarter>(m_rows, m_rowStride, m_panel, m_first, m_before, m_from);
        if (kQuarter == 3) {
            m_first = false;
            m_rows += m_rowStep;
            m_panel += kTileCells * panelWidth();
            --m_left;
        }
        finishWrites();
    }
    /// Runs all remaining steps and stores the sums that are still in the tiles.
    HWY_INLINE void finish() {
        while (begin())
            run(m_left);
        close();
    }
    HWY_INLINE void close() {
        if (m_sums) storeSums(m_sums, panelWidth());
        m_sums = nullptr;
        finishWrites();
    }

private:
    HWY_INLINE bool open() {
        const size_t width = panelWidth();
        m_before = m_sums;
        if (m_block >= 0) {
            m_rowStride = m_head.keys.stride;
            m_rowStep = m_head.keys.pieceStep;
            m_rows = m_head.keys.from(static_cast<size_t>(m_block) * kTileKeys).data;
            m_panel = m_memory.queries;
            m_left = m_depth;
            m_sums = m_memory.scoresOf(m_block);
            m_from = nullptr;
            m_block = -1;
        } else if (m_column < m_depth) {
            m_rowStride = m_head.valueStride;
            m_rowStep = kTileCells;
            m_rows = m_head.values + m_column * kTileKeys * m_rowStride + m_group.first * kTileCells;
            m_panel = m_group.weights;
            m_left = m_group.blocks;
            m_sums = m_memory.output + m_column * kTileKeys * width;
            m_from = m_sums;
            ++m_column;
        } else {
            return false;
        }
        m_first = true;
        return true;
    }

    const AttentionHeadBf16& m_head;
    const TileMemory& m_memory;
    const int m_depth;
    int m_block = -1, m_column, m_left = 0;
    KeyGroup m_group;
    float* m_sums = nullptr;  // the memory for the sums that are now in the tiles
    float *m_before = nullptr, *m_from = nullptr;
    bool m_first = false;
    const Bf16Pair *m_rows = nullptr, *m_panel = nullptr;
    size_t m_rowStride = 0, m_rowStep = 0;
};

/// For each query: the sums of the weights of even and of odd keys, and the OR of the bits of all weights.
struct TileTotals {
    HWY_INLINE TileTotals() {
        for (auto& half : sum)
            half[0] = half[1] = hn::Zero(FloatTag());
        bits[0] = bits[1] = _mm512_setzero_si512();
    }
    HWY_INLINE Float of(int v) const { return hn::Add(sum[v][0], sum[v][1]); }

    Float sum[2][2];
    __m512i bits[2];
};

/// Returns the bits of 2^x plus half of a bf16's last bit. So the upper 16 bits are 2^x, rounded to bf16.
HWY_INLINE __m512i exp2ForPairs(Float x) {
    static constexpr float kTerms[] = {0.99992522f + 0x1p-8f, 0.695833529f, 0.226067168f, 0.0780245231f};
    const __m512 part = _mm512_reduce_ps(x.raw, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    return _mm512_castps_si512(_mm512_scalef_ps(horner(Float{part}, kTerms).raw, x.raw));
}

HWY_INLINE void weighPair(const float* scores, Float peak, Bf16Pair* weights, Float& even, Float& odd,
                          __m512i& bits) {
    const FloatTag d;
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000u));
    // The indices of a shuffle that moves the upper half of each cell to the lower half.
    const __m512i lower = _mm512_set4_epi32(0x0F0E0F0E, 0x0B0A0B0A, 0x07060706, 0x03020302);
    const __m512i first = exp2ForPairs(hn::Sub(hn::Load(d, scores), peak));
    const __m512i second = exp2ForPairs(hn::Sub(hn::Load(d, scores + panelWidth()), peak));
    _mm512_store_si512(weights, _mm512_mask_shuffle_epi8(second, 0x3333333333333333u, first, lower));
    bits = _mm512_ternarylogic_epi32(bits, first, second, 0xFE);
    even = hn::Add(even, Float{_mm512_castsi512_ps(_mm512_and_si512(first, upper))});
    odd = hn::Add(odd, Float{_mm512_castsi512_ps(_mm512_and_si512(second, upper))});
}

/// The peak of each query, which is the score whose weight is 1. A peak is replaced if a weight of the query
/// reaches 2, or if all weights of the query so far are 0. The new peak is the highest score of the block
/// plus kSlack - 1.
class TilePeaks {
public:
    HWY_INLINE TilePeaks() { m_peak[0] = m_peak[1] = hn::Zero(FloatTag()); }

    HWY_INLINE Float of(int v) const { return m_peak[v]; }

    /// Returns whether all peaks can be kept: all weights so far are below 2, and each query has a weight
    /// other than 0.
    HWY_INLINE bool hold(const TileTotals& totals) const {
        const FloatTag d;
        const __m512i two = _mm512_set1_epi32(0x40000000);
        const auto large = static_cast<unsigned>(_mm512_test_epi32_mask(totals.bits[0], two)) |
                           _mm512_test_epi32_mask(totals.bits[1], two);
        const auto none = hn::Or(hn::Eq(totals.of(0), hn::Zero(d)), hn::Eq(totals.of(1), hn::Zero(d)));
        return large == 0 && hn::AllFalse(d, none);
    }

    /// Replaces each peak that cannot be kept for a block's scores, and scales the earlier sums of its query.
    /// For all other queries, the factor is exactly 1, so the bits of their sums do not change.
    HWY_NOINLINE void raise(const float* scores, int headSize, float* output, TileTotals& totals) {
        const FloatTag d;
        const size_t width = panelWidth();
        for (int v = 0; v < 2; ++v, scores += width / 2, output += width / 2) {
            Float even = hn::Load(d, scores), odd = hn::Load(d, scores + width);
            for (int r = 2; r < kTileKeys; r += 2) {
                even = hn::Max(even, hn::Load(d, scores + r * width));
                odd = hn::Max(odd, hn::Load(d, scores + (r + 1) * width));
            }
            const Float highest = hn::Max(even, odd);
            const auto empty = hn::Eq(totals.of(v), hn::Zero(d));
            const auto begins =
                hn::And(empty, hn::Gt(highest, hn::Set(d, std::numeric_limits<float>::lowest())));
            const auto higher = hn::Ge(highest, hn::Add(m_peak[v], hn::Set(d, 1.0f)));
            const Float before = m_peak[v];
            m_peak[v] =
                hn::IfThenElse(hn::Or(begins, higher), hn::Add(highest, hn::Set(d, kSlack - 1)), before);
            if (hn::AllTrue(d, empty)) continue;
            const Float shrink = exp2(hn::IfThenZeroElse(empty, hn::Sub(before, m_peak[v])));
            for (Float& sum : totals.sum[v])
                sum = hn::Mul(sum, shrink);
            float* out = output;
            for (int k = 0; k < headSize; ++k, out += width)
                hn::Store(hn::Mul(hn::Load(d, out), shrink), d, out);
        }
    }

private:
    Float m_peak[2];
};

/// Adds the biases of a block's keys to the keys' scores. Sets the scores of missing keys to minus infinity.
HWY_NOINLINE void completeScores(const AttentionHead& head, int block, float* scores) {
    const FloatTag d;
    const int key = block * kTileKeys, present = std::min(kTileKeys, head.tokens - key);
    for (int r = 0; r < kTileKeys; ++r) {
        const Float bias = hn::Set(d, head.keyBias && r < present ? head.keyBias[key + r] * kLog2E : 0.0f);
        for (int v = 0; v < 2; ++v, scores += panelWidth() / 2) {
            const Float score = hn::Add(hn::Load(d, scores), bias);
            hn::Store(r < present ? score : hn::Set(d, -std::numeric_limits<float>::infinity()), d, scores);
        }
    }
}

/// Turns a block's scores into weights while the tile unit runs `budget` steps.
HWY_INLINE void weighBlock(const float* scores, const TilePeaks& peaks, Bf16Pair* weights, int budget,
                           TileSteps& steps, TileTotals& totals) {
    const size_t width = panelWidth(), right = width / 2;
    // Uses separate variables, because GCC keeps an array in memory if a lambda refers to the array.
    const Float leftPeak = peaks.of(0), rightPeak = peaks.of(1);
    Float leftEven = totals.sum[0][0], leftOdd = totals.sum[0][1];
    Float rightEven = totals.sum[1][0], rightOdd = totals.sum[1][1];
    __m512i leftBits = totals.bits[0], rightBits = totals.bits[1];
    const auto pair = [&]() HWY_ATTR {
        weighPair(scores, leftPeak, weights, leftEven, leftOdd, leftBits);
        weighPair(scores + right, rightPeak, weights + right, rightEven, rightOdd, rightBits);
        scores += 2 * width;
        weights += width;
    };
    for (int piece = 0; piece < kPieces; ++piece) {
        const int share = budget / (kPieces - piece);
        budget -= share;
        steps.run(share - 1);
        if (share > 0 && steps.begin()) {
            steps.quarter<0>();
            pair();
            steps.quarter<1>();
            pair();
            steps.quarter<2>();
            pair();
            steps.quarter<3>();
            pair();
        } else {
            for (int i = 0; i < kPieceKeys / 2; ++i)
                pair();
        }
    }
    totals.sum[0][0] = leftEven, totals.sum[0][1] = leftOdd;
    totals.sum[1][0] = rightEven, totals.sum[1][1] = rightOdd;
    totals.bits[0] = leftBits, totals.bits[1] = rightBits;
}

/// Computes attention to all keys of a head for the panel of queries in `memory`. Returns the sums of the
/// weights.
HWY_INLINE TileTotals attendTiles(const AttentionHeadBf16& head, const TileMemory& memory) {
    const size_t width = panelWidth(), blockSize = kTileKeys / 2 * width;
    const AttentionHead& f32 = head.f32;
    const int blocks = (f32.tokens + kTileKeys - 1) / kTileKeys;
    std::fill_n(memory.output, f32.headSize * width, 0.0f);
    TileTotals totals;
    TilePeaks peaks;
    const TileScope tiles;
    TileSteps steps(head, memory);
    KeyGroup group;
    group.weights = memory.weights;
    steps.setScores(0);
    steps.finish();
    for (int block = 0; block < blocks; ++block) {
        float* const scores = memory.scoresOf(block);
        if (f32.keyBias || (block + 1) * kTileKeys > f32.tokens) completeScores(f32, block, scores);
        if (block == 0) peaks.raise(scores, f32.headSize, memory.output, totals);
        const TileTotals before = totals;
        steps.setScores(block + 1 < blocks ? block + 1 : -1);
        weighBlock(scores, peaks, group.weights + group.blocks * blockSize,
                   steps.share(kTogether - group.blocks), steps, totals);
        steps.close();
        if (!peaks.hold(totals)) {
            totals = before;
            steps.finish();
            steps.setValues(group);
            steps.finish();
            peaks.raise(scores, f32.headSize, memory.output, totals);
            group.first = block, group.blocks = 0;
            weighBlock(scores, peaks, group.weights, 0, steps, totals);
            totals.bits[0] = totals.bits[1] = _mm512_setzero_si512();
        }
        if (++group.blocks < kTogether) continue;
        steps.finish();
        steps.setValues(group);
        group.weights =
            group.weights == memory.weights ? memory.weights + kTogether * blockSize : memory.weights;
        group.first = block + 1, group.blocks = 0;
    }
    steps.finish();
    steps.setValues(group);
    steps.finish();
    return totals;
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif  // MPM_HAS_TILES

#endif
