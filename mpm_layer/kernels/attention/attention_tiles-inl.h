// Attention in AMX tiles: scores of any kind, weights and values as pairs of bf16.

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

// Keys whose scores are looked at together: sums of tiles are grouped by 32 keys, and which keys are grouped
// must not depend on the queries beside one.
constexpr int kKeyChunk = 96;
static_assert(kKeyChunk % kGroup == 0 && kKeyChunk % (2 * kTileRows) == 0 && kKeyBlockBf16 % kKeyChunk == 0);

/// Room for weights, in pairs: of a block of keys and what fills its last tile.
HWY_INLINE size_t tileWeights() {
    return (kKeyBlockBf16 / 2 + kTileCells) * panelWidth();
}

/// Adds the biases of `present` keys from `key` to their scores [kKeyChunk][32], hides keys that are not
/// there, and finds the maxima.
HWY_INLINE void finishScores(const AttentionHead& head, int key, int present, float* scores,
                             Float (&highest)[2]) {
    const size_t width = panelWidth();
    highest[0] = highest[1] = hn::Set(FloatTag(), -std::numeric_limits<float>::infinity());
    for (int at = 0; at < present; at += kGroup) {
        const int here = std::min(kGroup, present - at);
        Block<kGroup> block, bias;
        loadBlock(scores + at * width, width, block);
        if (head.keyBias) {
            startScores(head, key + at, here, bias);
#pragma GCC unroll 16
            for (int r = 0; r < kGroup; ++r) {
                block.sum[r][0] = hn::Add(block.sum[r][0], bias.sum[r][0]);
                block.sum[r][1] = hn::Add(block.sum[r][1], bias.sum[r][1]);
            }
        }
        if (here < kGroup) hideMissing(here, block);
        if (head.keyBias || here < kGroup) storeBlock(block, scores + at * width, width);
        highest[0] = hn::Max(highest[0], highestScore(block, 0));
        highest[1] = hn::Max(highest[1], highestScore(block, 1));
    }
}

/// Adds the values, as columns, of `count` keys from `start`, whose weights are in whole tiles.
HWY_INLINE void addValueTiles(const ValuePairs& values, int start, int count, Bf16Pair* weights,
                              float* output) {
    const size_t width = panelWidth();
    const int pairs = pairsOf(count), whole = (pairs + kTileCells - 1) / kTileCells * kTileCells;
    // Groups end where tiles need not.
    std::fill(weights + pairs * width, weights + whole * width, 0u);
    finishWrites();
    for (int column = 0; column < values.columns; column += 2 * kTileRows) {
        multiplyTiles<PairTiles>(whole, values.pairs + column * values.stride + start / 2, values.stride,
                                 weights, false, output + column * width, width);
    }
}

/// Products of `present` keys from `key` with a panel of queries: sums [kKeyChunk][32]. Strides and depth in
/// cells.
template <class Tiles, class Sum>
HWY_INLINE void multiplyKeys(int depth, const std::uint32_t* keys, size_t stride, int key, int present,
                             const std::uint32_t* queries, Sum* sums) {
    const size_t width = panelWidth();
    for (int row = 0; row < present; row += 2 * kTileRows)
        multiplyTiles<Tiles>(depth, keys + (key + row) * stride, stride, queries, true, sums + row * width,
                             width);
}

/// All keys of a head for one panel of queries. score(key, present, scores) fills scores [kKeyChunk][32].
template <class Score>
HWY_INLINE void attendTiles(const AttentionHead& head, const ValuePairs& values, const Score& score,
                            float* scores, Bf16Pair* weights, Panel<2>& panel) {
    const size_t width = panelWidth();
    std::fill(panel.output, panel.output + head.headSize * width, 0.0f);
    const TileScope tiles;
    finishWrites();
    int waiting = 0;
    for (int key = 0; key < head.tokens; key += kKeyChunk) {
        const int present = std::min(kKeyChunk, head.tokens - key);
        Float highest[2];
        score(key, present, scores);
        finishScores(head, key, present, scores, highest);
        const bool higher = exceeds(highest, panel);
        if (waiting > 0 && (higher || waiting == kKeyBlockBf16)) {
            addValueTiles(values, key - waiting, waiting, weights, panel.output);
            waiting = 0;
        }
        if (higher) raisePeaks(highest, head.headSize, panel);
        for (int at = 0; at < present; at += kGroup) {
            Block<kGroup> block;
            loadBlock(scores + at * width, width, block);
            weighScorePairs(block, panel, weights + (waiting + at) / 2 * width);
        }
        waiting += present;
    }
    addValueTiles(values, head.tokens - waiting, waiting, weights, panel.output);
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif  // MPM_HAS_TILES

#endif  // per-target include guard
