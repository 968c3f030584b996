// Emulates AMX tiles in C++. The build includes this header before the source of a kernel. The header
// replaces the intrinsics, and the functions that test whether processor and system support AMX.
#pragma once

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace emulated_tiles {

struct Tile {
    std::uint32_t cells[16][16];
};

inline thread_local Tile g_tiles[8];
inline thread_local bool g_configured = false;
inline thread_local long g_pairProducts = 0, g_quadProducts = 0;

/// Returns a tile. As on hardware, using a tile before the configuration is an error.
inline Tile& tile(int index) {
    if (!g_configured) std::abort();
    return g_tiles[index];
}

inline void configure(const void* layout) {
    const auto* bytes = static_cast<const std::uint8_t*>(layout);
    g_configured = bytes[0] == 1 && bytes[16] == 64 && bytes[48] == 16;
}

inline void release() {
    g_configured = false;
}

inline void zero(int index) {
    tile(index) = Tile();
}

inline void load(int index, const void* from, std::size_t stride) {
    for (int r = 0; r < 16; ++r)
        std::memcpy(tile(index).cells[r], static_cast<const char*>(from) + r * stride, 64);
}

inline void store(int index, void* to, std::size_t stride) {
    for (int r = 0; r < 16; ++r)
        std::memcpy(static_cast<char*>(to) + r * stride, tile(index).cells[r], 64);
}

inline float fromBits(std::uint32_t bits) {
    float value = 0;
    std::memcpy(&value, &bits, 4);
    return value;
}

/// Computes sums += left * right for both bf16 elements of each cell.
inline void addPairs(int sums, int left, int right) {
    ++g_pairProducts;
    for (int m = 0; m < 16; ++m) {
        for (int n = 0; n < 16; ++n) {
            float sum = fromBits(tile(sums).cells[m][n]);
            for (int k = 0; k < 16; ++k) {
                const std::uint32_t a = tile(left).cells[m][k], b = tile(right).cells[k][n];
                sum += fromBits(a << 16) * fromBits(b << 16);
                sum += fromBits(a & 0xFFFF0000u) * fromBits(b & 0xFFFF0000u);
            }
            std::memcpy(&tile(sums).cells[m][n], &sum, 4);
        }
    }
}

/// Computes sums += left * right. `left` has unsigned bytes, `right` signed bytes.
inline void addQuads(int sums, int left, int right) {
    ++g_quadProducts;
    for (int m = 0; m < 16; ++m) {
        for (int n = 0; n < 16; ++n) {
            std::uint32_t sum = tile(sums).cells[m][n];
            for (int k = 0; k < 16; ++k) {
                const std::uint32_t a = tile(left).cells[m][k], b = tile(right).cells[k][n];
                for (int shift = 0; shift < 32; shift += 8)
                    sum += static_cast<std::uint32_t>(static_cast<int>(a >> shift & 0xFF) *
                                                      static_cast<std::int8_t>(b >> shift & 0xFF));
            }
            tile(sums).cells[m][n] = sum;
        }
    }
}

inline int everyFeature(unsigned* a, unsigned* b, unsigned* c, unsigned* d) {
    *a = *b = *c = *d = ~0u;
    return 1;
}

}  // namespace emulated_tiles

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbusd
#define _tile_loadconfig(layout) emulated_tiles::configure(layout)
#define _tile_release() emulated_tiles::release()
#define _tile_zero(tile) emulated_tiles::zero(tile)
#define _tile_loadd(tile, from, stride) emulated_tiles::load(tile, from, stride)
#define _tile_stored(tile, to, stride) emulated_tiles::store(tile, to, stride)
#define _tile_dpbf16ps(sums, left, right) emulated_tiles::addPairs(sums, left, right)
#define _tile_dpbusd(sums, left, right) emulated_tiles::addQuads(sums, left, right)
#define __get_cpuid_count(leaf, part, a, b, c, d) emulated_tiles::everyFeature(a, b, c, d)
#define syscall(...) 0L
