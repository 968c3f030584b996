// The softmax over groups of keys on 64-bit Arm. The scores of a group are stored, then read in a loop over
// rows. The loop takes less than half the instructions of an unrolled softmax, in which GCC 12 moves a
// block of 24 vectors to memory and back several times.

#if defined(MPM_KERNELS_STORED_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_STORED_SCORES_INL_H_
#undef MPM_KERNELS_STORED_SCORES_INL_H_
#else
#define MPM_KERNELS_STORED_SCORES_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "mpm_layer/kernels/attention/attention-inl.h"

#if HWY_TARGET == HWY_NEON

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {

/// The highest score of a group of keys, and the sum of the group's weights, for each query.
template <int V>
struct GroupWeights {
    HWY_INLINE GroupWeights() {}  // is not implicit: see Block

    Float highest[V];
    Float total[V];
};

/// Computes the weights of the first `present` keys of a group, relative to the peaks of the panel, as
/// [present][panelWidth()]. read(r, scores) reads the scores of key r; Exponential::of(x) is 2^x.
template <class Exponential, int V, class Read>
HWY_INLINE GroupWeights<V> weighStored(int present, const Panel<V>& panel, const Read& read, float* weights) {
    const FloatTag d;
    GroupWeights<V> group;
    Float peak[V];
    for (int v = 0; v < V; ++v) {
        group.highest[v] = hn::Set(d, -std::numeric_limits<float>::infinity());
        group.total[v] = hn::Zero(d);
        peak[v] = panel.peak[v];
    }
    for (int r = 0; r < present; ++r, weights += panelWidth()) {
        Float scores[V];
        read(r, scores);
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) {
            const Float weight = Exponential::of(hn::Sub(scores[v], peak[v]));
            group.highest[v] = hn::Max(group.highest[v], scores[v]);
            group.total[v] = hn::Add(group.total[v], weight);
            hn::Store(weight, d, weights + v * hn::Lanes(d));
        }
    }
    return group;
}

/// Like attendKeys(), but store(key) stores the scores of the group that begins at `key`, and read(key, r,
/// scores) reads the scores of the group's key r. Weights are computed before the peaks are checked. If a
/// score exceeds a peak by more than kSlack, which is rare, the weights are computed again.
template <class Exponential, int V, class Store, class Read, class Add>
HWY_INLINE void attendStored(const AttentionHead& head, int room, float* weights, Panel<V>& panel,
                             const Store& store, const Read& read, const Add& add) {
    int waiting = 0;
    for (int key = 0; key < head.tokens; key += kGroup) {
        const int present = std::min(kGroup, head.tokens - key);
        const bool passEnds = panel.earlier && key > 0 && key % room == 0;
        if (waiting > 0 && (passEnds || waiting == room)) {
            add(key - waiting, waiting);
            waiting = 0;
        }
        if (passEnds) endPass(head.headSize, panel);
        store(key);
        const auto readKey = [&](int r, Float(&scores)[V]) HWY_ATTR { read(key, r, scores); };
        auto group = weighStored<Exponential>(present, panel, readKey, weights + waiting * panelWidth());
        if (exceeds(group.highest, panel)) {
            if (waiting > 0) add(key - waiting, waiting);
            waiting = 0;
            raisePeaks(group.highest, head.headSize, panel);
            group = weighStored<Exponential>(present, panel, readKey, weights);
        }
        for (int v = 0; v < V; ++v)
            panel.total[v] = hn::Add(panel.total[v], group.total[v]);
        waiting += present;
    }
    add(head.tokens - waiting, waiting);
}

struct Exact {
    static HWY_INLINE Float of(Float x) { return exp2(x); }
};

struct Coarse {
    static HWY_INLINE Float of(Float x) { return exp2Coarse(x); }
};

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif  // HWY_NEON

#endif
