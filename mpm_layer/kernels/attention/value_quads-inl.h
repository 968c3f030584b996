// Attention weights as bytes, and their product with values in bytes.

#if defined(MPM_KERNELS_VALUE_QUADS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_VALUE_QUADS_INL_H_
#undef MPM_KERNELS_VALUE_QUADS_INL_H_
#else
#define MPM_KERNELS_VALUE_QUADS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "mpm_layer/kernels/attention/attention-inl.h"
#include "mpm_layer/kernels/product/quads-inl.h"

MPM_BEFORE_NAMESPACE_I8();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

#if MPM_HAS_VNNI

// The number of keys in a pass. All scores of a pass are stored before they become weights, so that the
// highest score of the pass gets the largest byte. With fewer keys in a pass, weights are more exact: over
// 180 random heads, the largest error of an output is 0.017 with 24 keys and 0.022 with 48.
constexpr int kKeyBlockI8 = 24;
static_assert(kKeyBlockI8 % kGroup == 0 && kKeyBlockI8 % 4 == 0);

struct KeyBlock {
    HWY_INLINE explicit KeyBlock(float* memory)
        : scores(memory),
          weights(reinterpret_cast<I8Quad*>(scores + kKeyBlockI8 * panelWidth())),
          steps(scores + (kKeyBlockI8 + kKeyBlockI8 / 4) * panelWidth()),
          biases(steps + kKeyBlockI8),
          inverses(biases + kKeyBlockI8) {}

    /// Returns the size of the memory in floats.
    static HWY_INLINE size_t room() {
        return (kKeyBlockI8 + kKeyBlockI8 / 4) * panelWidth() + 3 * kKeyBlockI8;
    }

    /// Sets the steps, biases and inverses of `count` keys, from `key` on. The biases of missing keys are
    /// minus infinity, so the weights of these keys are 0.
    HWY_INLINE void setKeys(const AttentionHeadI8& head, int key, int count) {
        std::copy_n(head.keyScales + key, count, steps);
        std::copy_n(head.valueInverses + key, count, inverses);
        for (int k = 0; k < count; ++k)
            biases[k] =
                head.valueBiases[key + k] + (head.f32.keyBias ? head.f32.keyBias[key + k] * kLog2E : 0);
        std::fill(steps + count, steps + kKeyBlockI8, 0.0f);
        std::fill(inverses + count, inverses + kKeyBlockI8, 0.0f);
        std::fill(biases + count, biases + kKeyBlockI8, -std::numeric_limits<float>::infinity());
    }

    float* scores;                     // [key][width]
    I8Quad* weights;                   // [quad of keys][width]
    float *steps, *biases, *inverses;  // an entry for each key
};

/// Takes each bit of the result from `yes` if the bit is set in `mask`, else from `no`.
HWY_INLINE Int select(Int mask, Int yes, Int no) {
#if HWY_TARGET <= HWY_AVX3
    return Int{_mm512_ternarylogic_epi32(mask.raw, yes.raw, no.raw, 0xCA)};
#else
    return hn::OrAnd(hn::AndNot(mask, no), mask, yes);
#endif
}

HWY_INLINE Float exp2Bytes(Float x) {
#if HWY_TARGET <= HWY_AVX3
    return exp2Coarse(x);
#else
    return exp2(x);
#endif
}

/// Computes the weights of a block's keys as bytes from 0 to 255. Sets `unit` to the step of these bytes.
template <int V>
HWY_INLINE void weighBlock(int count, const KeyBlock& block, const Float (&highest)[V], Panel<V>& panel,
                           Float (&unit)[V]) {
    constexpr float kLog2Most = 7.99435344f;  // log2(255)
    // Adding kFirst rounds a weight to a whole number, which is then in the lowest byte of the sum. Adding
    // kSecond rounds too, but the last bit of the sum means 1/256, so the number is in the second byte.
    constexpr float kFirst = 12582912.0f, kSecond = 49152.5f;
    const FloatTag d;
    const IntTag di;
    const size_t width = panelWidth(), lanes = hn::Lanes(d);
    const Int low = hn::Set(di, 0xFF), lower = hn::Set(di, 0xFFFF);
    Float base[V], totals[V][4];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        // If biases hide all keys, the highest score is minus infinity.
        const Float most = hn::Max(highest[v], hn::Set(d, std::numeric_limits<float>::lowest()));
        base[v] = hn::Sub(most, hn::Set(d, kLog2Most));
        unit[v] = exp2(hn::Sub(base[v], panel.peak[v]));
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
            totals[v][j] = hn::Zero(d);
    }
    for (int k = 0; k < count; k += 4) {
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) {
            Int bits[4];
#pragma GCC unroll 4
            for (int j = 0; j < 4; ++j) {
                const Float score = hn::Load(d, block.scores + (k + j) * width + v * lanes);
                const Float weight = exp2Bytes(hn::Sub(score, base[v]));
                totals[v][j] = hn::MulAdd(weight, hn::Set(d, block.inverses[k + j]), totals[v][j]);
                bits[j] = hn::BitCast(di, hn::Add(weight, hn::Set(d, j % 2 == 0 ? kFirst : kSecond)));
            }
            const Int first = select(low, bits[0], bits[1]), second = select(low, bits[2], bits[3]);
            hn::Store(select(lower, first, hn::ShiftLeft<16>(second)), di,
                      reinterpret_cast<std::int32_t*>(block.weights) + k / 4 * width + v * lanes);
        }
    }
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
        const Float sum = hn::Add(hn::Add(totals[v][0], totals[v][1]), hn::Add(totals[v][2], totals[v][3]));
        panel.total[v] = hn::MulAdd(sum, unit[v], panel.total[v]);
    }
}

template <int R, int V>
HWY_INLINE void addValueQuads(const I8Quad* values, size_t stride, int quads, const I8Quad* weights,
                              const Float (&unit)[V], float* output) {
    const FloatTag d;
    const IntTag di;
    const size_t width = panelWidth(), lanes = hn::Lanes(d);
    IntBlock<R, V> sums;
    clearBlock(sums);
    for (int q = 0; q < quads; ++q, values += stride, weights += width) {
        Int columns[V];
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            columns[v] = hn::Load(di, reinterpret_cast<const std::int32_t*>(weights) + v * lanes);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const Int value = hn::Set(di, static_cast<std::int32_t>(values[r]));
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v)
                sums.sum[r][v] = asSum(DotVnni::add(sums.at(r, v), columns[v], value));
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r, output += width) {
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) {
            float* const to = output + v * lanes;
            hn::Store(hn::MulAdd(hn::ConvertTo(d, sums.at(r, v)), unit[v], hn::Load(d, to)), d, to);
        }
    }
}

/// Adds the values of the block's keys, multiplied by the keys' weights, to the output.
template <int V>
HWY_NOINLINE void addValueQuads(const AttentionHeadI8& head, int quad, int quads, const I8Quad* weights,
                                const Float (&unit)[V], float* output) {
    const I8Quad* const values = head.values + quad * head.valueStride;
    int column = 0;
    const auto left = [&] { return head.f32.headSize - column; };
    const auto add = [&](auto rows) HWY_ATTR {
        addValueQuads<decltype(rows)::value, V>(values + column, head.valueStride, quads, weights, unit,
                                                output + column * panelWidth());
        column += decltype(rows)::value;
    };
    while (left() >= kGroup && left() != 16)
        add(std::integral_constant<int, kGroup>());
    while (left() >= 8 && kGroup > 8)
        add(std::integral_constant<int, std::min(8, kGroup)>());
    while (left() >= 4)
        add(std::integral_constant<int, 4>());
    while (left() >= 1)
        add(std::integral_constant<int, 1>());
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif
