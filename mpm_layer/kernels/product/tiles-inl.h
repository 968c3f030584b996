// Products of bf16 pairs in AMX tiles, eight registers of 16 rows of 64 bytes. The panels of weights are as
// those of AVX-512 BF16: 16 of their rows are the right operand of a tile. Every element is one
// chain of sums in ascending k here too, whatever rows are beside it.

#if defined(MPM_KERNELS_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_TILES_INL_H_
#undef MPM_KERNELS_TILES_INL_H_
#else
#define MPM_KERNELS_TILES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>  // brings the intrinsics, and their warnings silenced

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "mpm_layer/kernels/product/bf16.hpp"
#include "mpm_layer/kernels/product/microkernel-inl.h"

#undef MPM_HAS_TILES
#undef MPM_TILES_TARGET
#if HWY_TARGET <= HWY_AVX3 && defined(__linux__) && defined(__GNUC__) && \
    (__GNUC__ >= 11 || defined(__clang__))
#define MPM_HAS_TILES 1
#define MPM_TILES_TARGET ",amx-tile,amx-bf16"

HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR MPM_TILES_TARGET)
namespace mpm::kernels {
namespace HWY_NAMESPACE {

constexpr int kTileRows = 16, kTilePairs = 16;
constexpr size_t kTileStride = 32 * sizeof(float);  // a panel's two vectors of columns, in bytes

/// Whether the processor has the tiles and the system lets this process use them.
inline bool mayUseTiles() {
    constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & (kBf16 | kTile)) != (kBf16 | kTile)) return false;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

/// All eight tiles at their largest, for as long as this lives; left alone, they would slow down every switch
/// to another thread.
class TileScope {
public:
    HWY_INLINE TileScope() {
        struct alignas(64) {
            std::uint8_t palette = 1, start = 0, reserved[14] = {};
            std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
            std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
        } layout;
        _tile_loadconfig(&layout);
    }
    HWY_INLINE ~TileScope() { _tile_release(); }
};

/// The compiler does not know that tiles read memory: the values must be in memory before.
HWY_INLINE void finishWrites() {
    __asm__ volatile("" ::: "memory");
}

/// sums [32][32] = (or, without `fresh`, +=) the product of 32 rows with a panel, `pairs` deep, a multiple of
/// kTilePairs. Strides in pairs; `ahead` fetches a piece at each step.
template <class Ahead = NothingAhead>
HWY_INLINE void multiplyTiles(int pairs, const Bf16Pair* rows, size_t rowStride, const Bf16Pair* panel,
                              bool fresh, float* sums, size_t sumStride, Ahead ahead = {}) {
    const size_t sumBytes = sumStride * sizeof(float), rowBytes = rowStride * sizeof(Bf16Pair);
    float* const lower = sums + kTileRows * sumStride;
    if (fresh) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, sums, sumBytes);
        _tile_loadd(1, sums + 16, sumBytes);
        _tile_loadd(2, lower, sumBytes);
        _tile_loadd(3, lower + 16, sumBytes);
    }
    for (int k = 0; k < pairs; k += kTilePairs, panel += 32 * kTilePairs) {
        _tile_loadd(4, rows + k, rowBytes);
        _tile_loadd(6, panel, kTileStride);
        _tile_loadd(7, panel + 16, kTileStride);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(5, rows + kTileRows * rowStride + k, rowBytes);
        _tile_dpbf16ps(1, 4, 7);
        ahead.step();
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, sumBytes);
    _tile_stored(1, sums + 16, sumBytes);
    _tile_stored(2, lower, sumBytes);
    _tile_stored(3, lower + 16, sumBytes);
}

/// Memory that is wanted soon, so many cache lines a step.
struct LinesAhead {
    HWY_INLINE LinesAhead(const void* next, size_t bytes, int steps)
        : at(static_cast<const char*>(next)), lines(static_cast<int>(bytes / 64) / std::max(1, steps) + 1) {}

    HWY_INLINE void step() {
        for (int i = 0; i < lines; ++i, at += 64)
            __builtin_prefetch(at, 0, 2);
    }

    const char* at;
    int lines;
};

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#else
#define MPM_HAS_TILES 0
#define MPM_TILES_TARGET
#endif

#endif  // per-target include guard
