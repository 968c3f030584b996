#include "mpm_layer/kernels/upsample.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mpm_layer/kernels/upsample.cpp"
#include <hwy/foreach_target.h>
// Highway's per-target headers come after foreach_target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// body(value vector, column, lanes) over every output column; the last vector of a run may hold fewer lanes.
template <class Body>
HWY_INLINE void overColumns(const float* row, const Runs& runs, const Body& body) {
    const hn::ScalableTag<float> d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (const Run& run : runs.runs) {
        const auto start = hn::Set(d, row[run.index]);
        const auto slope = hn::Set(d, row[run.next] - row[run.index]);
        for (int k = run.begin; k < run.end; k += lanes) {
            const auto weight = hn::LoadU(d, runs.weights.data() + k);  // padded by a vector at the end
            body(hn::MulAdd(weight, slope, start), k, std::min(lanes, run.end - k));
        }
    }
}

void StretchRow(const float* row, const Runs& runs, float* out) {
    const hn::ScalableTag<float> d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    overColumns(row, runs, [&](auto value, int k, int count) HWY_ATTR {
        if (count == lanes) {
            hn::StoreU(value, d, out + k);
        } else {
            hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(count)), d, out + k);
        }
    });
}

void StretchBest(const float* row, const Runs& runs, int label, float* best, int* labels) {
    const hn::ScalableTag<float> d;
    const hn::RebindToSigned<decltype(d)> di;
    const auto mine = hn::Set(di, label);
    overColumns(row, runs, [&](auto value, int k, int count) HWY_ATTR {
        const auto part = hn::FirstN(d, static_cast<size_t>(count));
        const auto old = hn::MaskedLoad(part, d, best + k);
        // A NaN that came first must give way: greater, or the old one is no number.
        const auto wins = hn::And(
            part,
            label == 0 ? part : hn::Or(hn::Gt(value, old), hn::And(hn::Ne(old, old), hn::Eq(value, value))));
        hn::BlendedStore(value, wins, d, best + k);
        hn::BlendedStore(mine, hn::RebindMask(di, wins), di, labels + k);
    });
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mpm::kernels {

HWY_EXPORT(StretchRow);
HWY_EXPORT(StretchBest);

std::vector<Tap> bilinearTaps(int from, int to, bool alignCorners) {
    std::vector<Tap> taps(to);
    for (int k = 0; k < to; ++k) {
        double at = alignCorners ? (to > 1 ? static_cast<double>(k) * (from - 1) / (to - 1) : 0)
                                 : (k + 0.5) * from / to - 0.5;
        at = std::min(std::max(at, 0.0), static_cast<double>(from - 1));
        taps[k].index = static_cast<int>(at);
        taps[k].next = std::min(taps[k].index + 1, from - 1);
        taps[k].weight = static_cast<float>(at - taps[k].index);
    }
    return taps;
}

Runs bilinearRuns(int from, int to, bool alignCorners) {
    Runs runs;
    constexpr size_t kWidest = 64;  // lanes of any vector, so that a whole one may be read at the end
    runs.weights.assign(to + kWidest, 0.f);
    const std::vector<Tap> taps = bilinearTaps(from, to, alignCorners);
    for (int k = 0; k < to; ++k) {
        runs.weights[k] = taps[k].weight;
        const bool fresh = runs.runs.empty() || runs.runs.back().index != taps[k].index;
        if (fresh) runs.runs.push_back({taps[k].index, taps[k].next, k, k});
        runs.runs.back().end = k + 1;
    }
    return runs;
}

void stretchRow(const float* row, const Runs& runs, float* out) {
    HWY_DYNAMIC_DISPATCH(StretchRow)(row, runs, out);
}

void stretchBest(const float* row, const Runs& runs, int label, float* best, int* labels) {
    HWY_DYNAMIC_DISPATCH(StretchBest)(row, runs, label, best, labels);
}

}  // namespace mpm::kernels
#endif  // HWY_ONCE
