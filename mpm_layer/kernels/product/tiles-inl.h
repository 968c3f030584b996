// Products in AMX tiles. The eight tiles are registers, each with 16 rows of 64 bytes. A cell has 32 bits: a
// pair of bf16 or a quad of bytes. Panels of weights are the same as for AVX-512 BF16 and VNNI; 16 rows of a
// panel fill two tiles. As in microkernel-inl.h, every sum is a single chain in a fixed order.

#if defined(MPM_KERNELS_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_TILES_INL_H_
#undef MPM_KERNELS_TILES_INL_H_
#else
#define MPM_KERNELS_TILES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>  // includes the intrinsics and suppresses their warnings

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
#define MPM_TILES_TARGET ",amx-tile,amx-bf16,amx-int8"

HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR MPM_TILES_TARGET)
namespace mpm::kernels {
namespace HWY_NAMESPACE {

constexpr int kTileRows = 16, kTileCells = 16;
constexpr size_t kTileStride = 32 * sizeof(float);  // bytes of a panel's row: two vectors of columns

/// Asks the system for permission to use tiles. Returns whether the system gives permission and the processor
/// can multiply bf16 and bytes in tiles.
inline bool mayUseTiles() {
    constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25, kAll = kBf16 | kTile | kInt8;
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kAll) != kAll) return false;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

/// Configures all eight tiles at their largest size, and releases them at the end of the scope. If tiles
/// remained configured, every switch to another thread would take longer.
class TileScope {
public:
    HWY_INLINE TileScope() {
        struct alignas(64) {
            std::uint8_t palette = 1, start = 0, reserved[14] = {};
            std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
            std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
        } layout;
        // The intrinsic reads the whole layout, but declares only the first bytes as read. Without this
        // statement, the compiler could omit writes to the other bytes.
        __asm__ volatile("" : : "r"(&layout) : "memory");
        _tile_loadconfig(&layout);
    }
    HWY_INLINE ~TileScope() { _tile_release(); }
};

/// Stops the compiler from moving memory accesses past tile instructions. The compiler does not expect these
/// instructions to access memory.
HWY_INLINE void finishWrites() {
    __asm__ volatile("" ::: "memory");
}

// The sums are in tiles 0 to 3, the rows in tiles 4 and 5, the panel in tiles 6 and 7. The intrinsics accept
// only literals as tile numbers, so these functions have no parameters.

/// Products of bf16, with sums in f32.
struct PairTiles {
    static HWY_INLINE void addUpperLeft() { _tile_dpbf16ps(0, 4, 6); }
    static HWY_INLINE void addUpperRight() { _tile_dpbf16ps(1, 4, 7); }
    static HWY_INLINE void addLowerLeft() { _tile_dpbf16ps(2, 5, 6); }
    static HWY_INLINE void addLowerRight() { _tile_dpbf16ps(3, 5, 7); }
};

/// Products of bytes, unsigned in rows and signed in panels as in VNNI, with sums in 32 bits.
struct QuadTiles {
    static HWY_INLINE void addUpperLeft() { _tile_dpbusd(0, 4, 6); }
    static HWY_INLINE void addUpperRight() { _tile_dpbusd(1, 4, 7); }
    static HWY_INLINE void addLowerLeft() { _tile_dpbusd(2, 5, 6); }
    static HWY_INLINE void addLowerRight() { _tile_dpbusd(3, 5, 7); }
};

/// Stores the sums of tiles 0 to 3 as [32][32]. Rows are `stride` sums apart.
HWY_INLINE void storeSums(void* sums, size_t stride) {
    const size_t bytes = stride * 4;
    char* const lower = static_cast<char*>(sums) + kTileRows * bytes;
    _tile_stored(0, sums, bytes);
    _tile_stored(1, static_cast<char*>(sums) + 64, bytes);
    _tile_stored(2, lower, bytes);
    _tile_stored(3, lower + 64, bytes);
}

/// Multiplies 32 rows by a panel over a depth of kTileCells cells, and adds the products to tiles 0 to 3.
/// `rowStride` is in cells.
template <class Tiles>
HWY_INLINE void multiplyStep(const std::uint32_t* rows, size_t rowStride, const std::uint32_t* panel) {
    const size_t bytes = rowStride * sizeof(std::uint32_t);
    _tile_loadd(4, rows, bytes);
    _tile_loadd(6, panel, kTileStride);
    _tile_loadd(7, panel + 16, kTileStride);
    Tiles::addUpperLeft();
    _tile_loadd(5, rows + kTileRows * rowStride, bytes);
    Tiles::addUpperRight();
    Tiles::addLowerLeft();
    Tiles::addLowerRight();
}

#define MPM_CHANGE_SUMS(tile)                    \
    if (to) _tile_stored(tile, to, kTileStride); \
    if (from)                                    \
        _tile_loadd(tile, from, kTileStride);    \
    else                                         \
        _tile_zero(tile)

/// If `to` is not null, stores a tile of sums in `to`. Then loads the tile from `from` or, if `from` is null,
/// sets it to zero.
template <int kTile>
HWY_INLINE void changeSums(void* to, const void* from) {
    if constexpr (kTile == 0) {
        MPM_CHANGE_SUMS(0);
    } else if constexpr (kTile == 1) {
        MPM_CHANGE_SUMS(1);
    } else if constexpr (kTile == 2) {
        MPM_CHANGE_SUMS(2);
    } else {
        MPM_CHANGE_SUMS(3);
    }
}
#undef MPM_CHANGE_SUMS

/// Runs a quarter of a step: the products for tile kQuarter of the four tiles of sums. If `first` is true,
/// the step begins a new product: changeSums() stores the tile's sums of the previous product in `before`
/// and loads the tile from `sums`. `before` and `sums` may be null.
template <class Tiles, int kQuarter>
HWY_INLINE void quarterStep(const std::uint32_t* rows, size_t rowStride, const std::uint32_t* panel,
                            bool first, void* before, const void* sums) {
    const size_t bytes = rowStride * sizeof(std::uint32_t);
    constexpr size_t kAt = kQuarter / 2 * kTileRows * kTileStride + kQuarter % 2 * 64;
    char* const to = static_cast<char*>(before) + kAt;
    const char* const from = static_cast<const char*>(sums) + kAt;
    if (kQuarter == 0) _tile_loadd(4, rows, bytes);
    if (kQuarter == 0) _tile_loadd(6, panel, kTileStride);
    if (kQuarter == 1) _tile_loadd(7, panel + 16, kTileStride);
    if (kQuarter == 2) _tile_loadd(5, rows + kTileRows * rowStride, bytes);
    if (first) changeSums<kQuarter>(before ? to : nullptr, sums ? from : nullptr);
    if (kQuarter == 0) Tiles::addUpperLeft();
    if (kQuarter == 1) Tiles::addUpperRight();
    if (kQuarter == 2) Tiles::addLowerLeft();
    if (kQuarter == 3) Tiles::addLowerRight();
}

template <class Tiles>
HWY_INLINE void firstStep(const std::uint32_t* rows, size_t rowStride, const std::uint32_t* panel,
                          void* before, const void* sums) {
    quarterStep<Tiles, 0>(rows, rowStride, panel, true, before, sums);
    quarterStep<Tiles, 1>(rows, rowStride, panel, true, before, sums);
    quarterStep<Tiles, 2>(rows, rowStride, panel, true, before, sums);
    quarterStep<Tiles, 3>(rows, rowStride, panel, true, before, sums);
}

/// Multiplies 32 rows by a panel, over a depth of `cells`, a multiple of kTileCells. `sums` and `before` are
/// as in quarterStep. The new sums remain in the tiles. Calls step() after each step.
template <class Tiles, class Step>
HWY_INLINE void multiplyTiles(int cells, const std::uint32_t* rows, size_t rowStride,
                              const std::uint32_t* panel, const void* sums, void* before, const Step& step) {
    firstStep<Tiles>(rows, rowStride, panel, before, sums);
    step();
    for (int k = kTileCells; k < cells; k += kTileCells) {
        panel += 32 * kTileCells;
        multiplyStep<Tiles>(rows + k, rowStride, panel);
        step();
    }
}

/// Prefetches memory that will soon be needed, a few cache lines per step.
struct LinesAhead {
    HWY_INLINE LinesAhead(const void* next, size_t bytes, int steps)
        : at(static_cast<const char*>(next)), lines((static_cast<int>(bytes / 64) + steps - 1) / steps) {}

    HWY_INLINE void step() {
        for (int i = 0; i < lines; ++i, at += 64)
            __builtin_prefetch(at, 0, 2);
    }

    const char* at;
    int lines;
};

// The largest depth of a pass, in cells. The level-2 cache is too slow for tiles. So the part of a panel that
// a pass reads must fit in the level-1 cache, beside the rows of the pass: 144 x 32 x 4 bytes = 18 KiB.
constexpr int kCellBlock = 144;
// The number of rows that a call to done() finishes (see multiplyTilePanels). A block has 32 rows.
constexpr int kTileGroup = 8;

/// Multiplies `count` rows by `panels` consecutive panels from `panel` on, over a depth of `cells`. `sums`
/// has room for tileSums(count) sums, as [row][32]. Calls done(panel, row) when the sums of rows
/// row..row+kTileGroup are complete. While the tiles multiply a block, done() finishes the previous block in
/// the vector units, even if that block is in the previous panel. If `prefetch` is true, prefetches the next
/// part of the panels.
template <class Tiles, class Sum, class Done>
HWY_INLINE void multiplyTilePanels(int count, int cells, const std::uint32_t* rows, size_t rowStride,
                                   const std::uint32_t* panel, int panels, bool prefetch, Sum* sums,
                                   const Done& done) {
    constexpr int kRows = 2 * kTileRows, kWidth = 32, kGroups = kRows / kTileGroup, kWait = 2;
    const int blocks = (count + kRows - 1) / kRows, passes = (cells + kCellBlock - 1) / kCellBlock;
    const int most = (cells / kTileCells + passes - 1) / passes * kTileCells;  // cells of a pass
    Sum* before = nullptr;
    struct {
        int panel = 0, row = 0;
    } next, ready;  // the next rows to finish, and the first rows whose sums are not complete
    const auto finish = [&]() HWY_ATTR {
        done(next.panel, next.row);
        next.row += kTileGroup;
        if (next.row < count) return;
        next.row = 0;
        ++next.panel;
    };
    for (int p = 0; p < panels; ++p) {
        for (int start = 0; start < cells; start += most) {
            const int depth = std::min(most, cells - start), steps = depth / kTileCells;
            // The first steps finish no rows: the sums of the previous block are not yet in the cache.
            const int wait = steps > kWait ? kWait : 0, left = steps - wait;
            const int each = (kGroups + left - 1) / left;               // groups to finish in a step
            const std::uint32_t* const after = panel + depth * kWidth;  // fits: a part of the panels
            const size_t share = static_cast<size_t>(depth) * kWidth * sizeof(std::uint32_t) / blocks;
            for (int b = 0; b < blocks; ++b) {
                LinesAhead lines(reinterpret_cast<const char*>(after) + b * share, prefetch ? share : 0,
                                 steps);
                int passed = 0;
                const auto step = [&]() HWY_ATTR {
                    lines.step();
                    if (passed++ < wait || (next.panel == ready.panel && next.row >= ready.row)) return;
                    finishWrites();
                    for (int k = 0; k < each && (next.panel < ready.panel || next.row < ready.row); ++k)
                        finish();
                };
                Sum* const own = sums + static_cast<size_t>(b) * kRows * kWidth;
                ready = {p, start + depth == cells ? b * kRows : 0};
                multiplyTiles<Tiles>(depth, rows + static_cast<size_t>(b) * kRows * rowStride + start,
                                     rowStride, panel, start == 0 ? nullptr : own, before, step);
                before = own;
            }
            panel = after;
        }
    }
    storeSums(before, kWidth);
    finishWrites();
    while (next.panel < panels)
        finish();
}

/// Returns the number of sums that multiplyTilePanels() needs for `count` rows: whole blocks of 32 rows.
HWY_INLINE size_t tileSums(int count) {
    constexpr size_t kRows = 2 * kTileRows, kWidth = 32;
    return (count + kRows - 1) / kRows * kRows * kWidth;
}

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#else
#define MPM_HAS_TILES 0
#define MPM_TILES_TARGET
#endif

#endif
