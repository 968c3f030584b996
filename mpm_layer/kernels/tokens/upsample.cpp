#include "mpm_layer/kernels/tokens/upsample.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/tokens/upsample.cpp"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h.
#include <hwy/highway.h>

#include "mpm_layer/kernels/common/functions-inl.h"
#include "mpm_layer/kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

// Returns the blend of two samples. If both are equal, returns their value, even if infinite. If the weight
// is 0, returns `start`, even if `stop` is NaN.
HWY_INLINE Float blendOf(Float start, Float stop, Float weight) {
    const FloatTag d;
    const Float slope = hn::Sub(stop, start);
    const Float parts = hn::MulAdd(weight, stop, hn::Mul(hn::Sub(hn::Set(d, 1.0f), weight), start));
    const Float blend = hn::IfThenElse(hn::IsFinite(slope), hn::MulAdd(weight, slope, start), parts);
    return hn::IfThenElse(hn::Or(hn::Eq(start, stop), hn::Eq(weight, hn::Zero(d))), start, blend);
}

using IndexTag = hn::RebindToSigned<FloatTag>;
using Index = hn::Vec<IndexTag>;

/// The samples of a row, read from memory.
struct GatheredSamples {
    HWY_INLINE Float at(Index index) const { return hn::GatherIndex(FloatTag(), row, index); }

    const float* row;
};

#if HWY_TARGET <= HWY_AVX3

/// The samples of a short row, in registers: a permutation takes less time than a gather.
class TabledSamples {
public:
    static constexpr int kMost = 64;

    HWY_INLINE TabledSamples(const float* row, int count) : m_long(count > kMost / 2) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
            const int left = std::clamp(count - 16 * v, 0, 16);
            m_samples[v] = left > 0 ? loadPart(row + 16 * v, left).raw : _mm512_setzero_ps();
        }
    }
    HWY_INLINE Float at(Index index) const {
        const __m512 lower = _mm512_permutex2var_ps(m_samples[0], index.raw, m_samples[1]);
        if (!m_long) return Float{lower};
        const __m512 upper = _mm512_permutex2var_ps(m_samples[2], index.raw, m_samples[3]);
        const __mmask16 isUpper = _mm512_test_epi32_mask(index.raw, _mm512_set1_epi32(kMost / 2));
        return Float{_mm512_mask_blend_ps(isUpper, lower, upper)};
    }

private:
    __m512 m_samples[4];
    const bool m_long;
};

#endif

template <class Samples>
HWY_INLINE void lookUpColumns(const Samples& samples, const Runs& runs, float* out) {
    const FloatTag d;
    const IndexTag di;
    const int lanes = static_cast<int>(hn::Lanes(d)), end = runs.runs.back().end;
    for (int k = runs.runs.front().begin; k < end; k += lanes) {
        const Float start = samples.at(hn::LoadU(di, runs.index.data() + k));
        const Float stop = samples.at(hn::LoadU(di, runs.next.data() + k));
        const Float weight = hn::LoadU(d, runs.weights.data() + k);  // all arrays are padded by a vector
        storePart(blendOf(start, stop, weight), out + k, std::min(lanes, end - k));
    }
}

/// Stretches a row by looking up two samples for each column, which is faster if the runs are shorter than a
/// vector.
HWY_INLINE void gatherColumns(const float* row, const Runs& runs, float* out) {
#if HWY_TARGET <= HWY_AVX3
    const int count = runs.runs.back().next + 1;
    if (count <= TabledSamples::kMost) return lookUpColumns(TabledSamples(row, count), runs, out);
#endif
    lookUpColumns(GatheredSamples{row}, runs, out);
}

void StretchRow(const float* row, const Runs& runs, float* out) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    if (runs.runs.empty()) return;
    const size_t columns = runs.runs.back().end - runs.runs.front().begin;
    if (columns < runs.runs.size() * lanes) return gatherColumns(row, runs, out);
    for (const Run& run : runs.runs) {
        const float difference = row[run.next] - row[run.index];
        const bool finite = std::isfinite(difference);
        const Float start = hn::Set(d, row[run.index]), stop = hn::Set(d, row[run.next]);
        const Float slope = hn::Set(d, difference);
        for (int k = run.begin; k < run.end; k += lanes) {
            const Float weight = hn::LoadU(d, runs.weights.data() + k);  // padded by a vector at the end
            const Float blend = finite ? hn::MulAdd(weight, slope, start) : blendOf(start, stop, weight);
            storePart(blend, out + k, std::min(lanes, run.end - k));
        }
    }
}

void AddBlend(const float* low, const float* high, float weight, int columns, float* to) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const Float part = hn::Set(d, weight);
    for (int k = 0; k < columns; k += lanes) {
        const int count = std::min(lanes, columns - k);
        const Float blend = blendOf(loadPart(low + k, count), loadPart(high + k, count), part);
        storePart(hn::Add(loadPart(to + k, count), blend), to + k, count);
    }
}

// A vector of output columns between the same two samples.
struct Piece {
    int index, next, begin, count;
};

// The number of pieces or vectors that a loop handles together. Each needs a chain of compares and selects,
// and the processor can overlap several chains.
constexpr int kAbreast = 4;

// Returns whether all samples are finite. One check of a sample replaces checks in its many blends.
HWY_INLINE bool allFinite(const float* rows, size_t stride, int classes, int columns) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    Float sum = hn::Zero(d);
    for (int c = 0; c < classes; ++c, rows += stride) {
        for (int k = 0; k < columns; k += lanes)
            sum = hn::MulAdd(loadPart(rows + k, std::min(lanes, columns - k)), hn::Zero(d), sum);
    }
    return hn::GetLane(hn::SumOfLanes(d, sum)) == 0;
}

// Handles all pieces in a single loop over classes, so that the best values and labels stay in registers.
template <bool Finite>
HWY_INLINE void argmaxPieces(const float* row, size_t stride, int classes, const float* weights,
                             const Piece* pieces, int* labels, float* largest) {
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    using Index = hn::Vec<decltype(di)>;
    Float weight[kAbreast], best[kAbreast];
    Index label[kAbreast];
#pragma GCC unroll 4
    for (int p = 0; p < kAbreast; ++p) {
        weight[p] = hn::LoadU(d, weights + pieces[p].begin);
        best[p] = hn::Set(d, -std::numeric_limits<float>::infinity());
        label[p] = hn::Zero(di);
    }
    for (int c = 0; c < classes; ++c, row += stride) {
        const Index mine = hn::Set(di, c);
#pragma GCC unroll 4
        for (int p = 0; p < kAbreast; ++p) {
            const float start = row[pieces[p].index];
            const float stop = row[pieces[p].next];
            const Float value = Finite ? hn::MulAdd(weight[p], hn::Set(d, stop - start), hn::Set(d, start))
                                       : blendOf(hn::Set(d, start), hn::Set(d, stop), weight[p]);
            const auto wins = hn::Gt(value, best[p]);
            best[p] = hn::IfThenElse(wins, value, best[p]);
            label[p] = hn::IfThenElse(hn::RebindMask(di, wins), mine, label[p]);
        }
    }
    HWY_ALIGN int part[HWY_MAX_BYTES / sizeof(int)];
    for (int p = 0; p < kAbreast; ++p) {
        hn::Store(label[p], di, part);
        std::copy_n(part, pieces[p].count, labels + pieces[p].begin);
        if (largest) storePart(best[p], largest + pieces[p].begin, pieces[p].count);
    }
}

void StretchArgmax(const float* rows, size_t stride, int classes, const Runs& runs, int* labels,
                   float* best) {
    const int lanes = static_cast<int>(hn::Lanes(FloatTag()));
    if (runs.runs.empty()) return;
    const bool finite = allFinite(rows, stride, classes, runs.runs.back().next + 1);
    Piece pieces[kAbreast];
    int waiting = 0;
    const auto flush = [&]() HWY_ATTR {
        for (int p = waiting; p < kAbreast; ++p)
            pieces[p] = pieces[0];
        const float* const weights = runs.weights.data();
        if (waiting > 0 && finite) argmaxPieces<true>(rows, stride, classes, weights, pieces, labels, best);
        if (waiting > 0 && !finite) argmaxPieces<false>(rows, stride, classes, weights, pieces, labels, best);
        waiting = 0;
    };
    for (const Run& run : runs.runs) {
        for (int k = run.begin; k < run.end; k += lanes) {
            pieces[waiting++] = {run.index, run.next, k, std::min(lanes, run.end - k)};
            if (waiting == kAbreast) flush();
        }
    }
    flush();
}

// If x is NaN, the comparison is false and selects the bound, so the sigmoid is almost 0.
HWY_INLINE Float sigmoidOf(Float x) {
    const FloatTag d;
    const Float exponent = hn::Mul(x, hn::Set(d, -1.44269504f)), most = hn::Set(d, 126.0f);
    const Float bounded = hn::IfThenElse(hn::Lt(exponent, most), exponent, most);
    const Float one = hn::Set(d, 1.0f);
    return hn::Div(one, hn::Add(one, exp2(bounded)));
}

// If kBlends is false, rows are not blended, because `low` and `high` are the same or the weight is 0.
template <bool kBlends>
void packRows(const float* low, const float* high, size_t stride, float weight, PackedWeights& to) {
    const FloatTag d;
    const int lanes = static_cast<int>(hn::Lanes(d)), width = panelColumns();
    const Float part = hn::Set(d, weight);
    for (int first = 0, p = 0; first < to.columns(); first += width, ++p) {
        float* out = to.panel(p);
        for (int k = 0; k < to.depth(); ++k, out += width) {
            const float* a = low + k * stride + first;
            const float* b = high + k * stride + first;
            for (int i = 0; i < width; i += lanes) {
                const int count = std::min(lanes, to.columns() - first - i);
                Float x = count > 0 ? loadPart(a + i, count) : hn::Zero(d);
                if (kBlends && count > 0) {
                    const Float other = loadPart(b + i, count);
                    x = blendOf(x, other, part);
                }
                hn::StoreU(sigmoidOf(x), d, out + i);
            }
        }
    }
}

void PackSigmoid(const float* low, const float* high, size_t stride, float weight, PackedWeights& to) {
    if (weight == 0.0f || low == high) {
        packRows<false>(low, low, stride, 0.0f, to);
    } else {
        packRows<true>(low, high, stride, weight, to);
    }
}

void ArgmaxRows(const float* rows, size_t stride, int count, int columns, int* labels, float* best) {
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    const int lanes = static_cast<int>(hn::Lanes(d));
    HWY_ALIGN int part[HWY_MAX_BYTES / sizeof(int)];
    for (int first = 0; first < columns; first += kAbreast * lanes) {
        Float value[kAbreast];
        hn::Vec<decltype(di)> label[kAbreast];
        int present[kAbreast];
        for (int v = 0; v < kAbreast; ++v) {
            present[v] = std::clamp(columns - first - v * lanes, 0, lanes);
            value[v] = hn::Set(d, -std::numeric_limits<float>::infinity());
            label[v] = hn::Zero(di);
        }
        for (int r = 0; r < count; ++r) {
            const auto mine = hn::Set(di, r);
            for (int v = 0; v < kAbreast && present[v] > 0; ++v) {
                const Float x = loadPart(rows + r * stride + first + v * lanes, present[v]);
                const auto wins = hn::Gt(x, value[v]);
                value[v] = hn::IfThenElse(wins, x, value[v]);
                label[v] = hn::IfThenElse(hn::RebindMask(di, wins), mine, label[v]);
            }
        }
        for (int v = 0; v < kAbreast && present[v] > 0; ++v) {
            hn::Store(label[v], di, part);
            std::copy_n(part, present[v], labels + first + v * lanes);
            storePart(value[v], best + first + v * lanes, present[v]);
        }
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(StretchRow);
HWY_EXPORT(AddBlend);
HWY_EXPORT(StretchArgmax);
HWY_EXPORT(PackSigmoid);
HWY_EXPORT(ArgmaxRows);

std::vector<Tap> bilinearTaps(int from, int to, bool alignCorners) {
    std::vector<Tap> taps(to);
    for (int k = 0; k < to; ++k) {
        double at = alignCorners ? (to > 1 ? static_cast<double>(k) * (from - 1) / (to - 1) : 0)
                                 : (k + 0.5) * from / to - 0.5;
        at = std::min(std::max(at, 0.0), static_cast<double>(from - 1));
        taps[k].index = static_cast<int>(at);
        taps[k].next = std::min(taps[k].index + 1, from - 1);
        taps[k].weight = static_cast<float>(at - taps[k].index);
        if (taps[k].weight == 0) taps[k].next = taps[k].index;  // the next sample has no effect
    }
    return taps;
}

Runs bilinearRuns(int from, int to, bool alignCorners) {
    Runs runs;
    constexpr size_t kWidest = 64;  // no vector has more lanes; room to read a whole vector at the end
    runs.weights.assign(to + kWidest, 0.f);
    runs.index.assign(to + kWidest, 0);
    runs.next.assign(to + kWidest, 0);
    const std::vector<Tap> taps = bilinearTaps(from, to, alignCorners);
    for (int k = 0; k < to; ++k) {
        runs.weights[k] = taps[k].weight;
        runs.index[k] = taps[k].index;
        runs.next[k] = taps[k].next;
        const bool fresh = runs.runs.empty() || runs.runs.back().index != taps[k].index;
        if (fresh) runs.runs.push_back({taps[k].index, taps[k].next, k, k});
        runs.runs.back().next = std::max(runs.runs.back().next, taps[k].next);
        runs.runs.back().end = k + 1;
    }
    return runs;
}

void crop(Runs& runs, int columns) {
    while (!runs.runs.empty() && runs.runs.back().begin >= columns)
        runs.runs.pop_back();
    if (!runs.runs.empty()) runs.runs.back().end = std::min(runs.runs.back().end, columns);
}

Runs slice(const Runs& runs, int begin, int end) {
    Runs part;
    for (Run run : runs.runs) {
        run.begin = std::max(run.begin, begin) - begin;
        run.end = std::min(run.end, end) - begin;
        if (run.begin < run.end) part.runs.push_back(run);
    }
    // Also copies the values from `end` on, because loops read the slice in whole vectors.
    part.weights.assign(runs.weights.begin() + begin, runs.weights.end());
    part.index.assign(runs.index.begin() + begin, runs.index.end());
    part.next.assign(runs.next.begin() + begin, runs.next.end());
    return part;
}

void stretchRow(const float* row, const Runs& runs, float* out) {
    HWY_DYNAMIC_DISPATCH(StretchRow)(row, runs, out);
}

void addBlend(const float* low, const float* high, float weight, int columns, float* to) {
    HWY_DYNAMIC_DISPATCH(AddBlend)(low, high, weight, columns, to);
}

void stretchArgmax(const float* rows, size_t stride, int classes, const Runs& runs, int* labels,
                   float* best) {
    HWY_DYNAMIC_DISPATCH(StretchArgmax)(rows, stride, classes, runs, labels, best);
}

void packSigmoid(const float* low, const float* high, size_t stride, float weight, PackedWeights& to) {
    HWY_DYNAMIC_DISPATCH(PackSigmoid)(low, high, stride, weight, to);
}

void argmaxRows(const float* rows, size_t stride, int count, int columns, int* labels, float* best) {
    HWY_DYNAMIC_DISPATCH(ArgmaxRows)(rows, stride, count, columns, labels, best);
}

}  // namespace mpm::kernels
#endif
