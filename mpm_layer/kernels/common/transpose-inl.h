// Transposes a matrix, four columns at a time, in squares of 4 x 4 elements of 32 bits. Each row of a square
// fills a 128-bit block of a vector.

#if defined(MPM_KERNELS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MPM_KERNELS_TRANSPOSE_INL_H_
#undef MPM_KERNELS_TRANSPOSE_INL_H_
#else
#define MPM_KERNELS_TRANSPOSE_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mpm::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kSquare = 4;

#if HWY_TARGET == HWY_SCALAR

template <class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void loadColumns(D d, const T* rows, size_t, int, V& v0, V& v1, V& v2, V& v3) {
    v0 = hn::Set(d, rows[0]), v1 = hn::Set(d, rows[1]), v2 = hn::Set(d, rows[2]), v3 = hn::Set(d, rows[3]);
}

template <class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void storeColumns(D, V v0, V v1, V v2, V v3, T* rows, size_t, int) {
    rows[0] = hn::GetLane(v0), rows[1] = hn::GetLane(v1);
    rows[2] = hn::GetLane(v2), rows[3] = hn::GetLane(v3);
}

#else

/// In each 128-bit block, swaps element j of vector i with element i of vector j.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void transposeSquares(D d, V& v0, V& v1, V& v2, V& v3) {
    const hn::Repartition<std::uint64_t, D> pairs;
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v0, v1));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v2, v3));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v0, v1));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v2, v3));
    v0 = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
    v1 = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
    v2 = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
    v3 = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}

/// Loads four elements from each of the rows `row`, `row` + 4, `row` + 8, ... Each row fills a 128-bit block.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> loadBlocks(D d, const T* rows, size_t stride, int row, int last) {
    if constexpr (hn::MaxLanes(D()) == kSquare) {
        return hn::LoadU(d, rows + std::min(row, last) * stride);
    } else {
        const hn::Half<D> half;
        const int middle = row + static_cast<int>(hn::MaxLanes(half));
        return hn::Combine(d, loadBlocks(half, rows, stride, middle, last),
                           loadBlocks(half, rows, stride, row, last));
    }
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void storeBlocks(D d, hn::Vec<D> v, T* rows, size_t stride, int row, int last) {
    if constexpr (hn::MaxLanes(D()) == kSquare) {
        if (row <= last) hn::StoreU(v, d, rows + row * stride);
    } else {
        const hn::Half<D> half;
        const int middle = row + static_cast<int>(hn::MaxLanes(half));
        storeBlocks(half, hn::LowerHalf(half, v), rows, stride, row, last);
        storeBlocks(half, hn::UpperHalf(half, v), rows, stride, middle, last);
    }
}

/// Loads four columns of as many rows as a vector has lanes. For rows after `last`, reads row `last`.
template <class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void loadColumns(D d, const T* rows, size_t stride, int last, V& v0, V& v1, V& v2, V& v3) {
    v0 = loadBlocks(d, rows, stride, 0, last);
    v1 = loadBlocks(d, rows, stride, 1, last);
    v2 = loadBlocks(d, rows, stride, 2, last);
    v3 = loadBlocks(d, rows, stride, 3, last);
    transposeSquares(d, v0, v1, v2, v3);
}

/// Stores four columns: the reverse of loadColumns. Rows after row `last` are not written.
template <class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void storeColumns(D d, V v0, V v1, V v2, V v3, T* rows, size_t stride, int last) {
    transposeSquares(d, v0, v1, v2, v3);
    storeBlocks(d, v0, rows, stride, 0, last);
    storeBlocks(d, v1, rows, stride, 1, last);
    storeBlocks(d, v2, rows, stride, 2, last);
    storeBlocks(d, v3, rows, stride, 3, last);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mpm::kernels
HWY_AFTER_NAMESPACE();

#endif
