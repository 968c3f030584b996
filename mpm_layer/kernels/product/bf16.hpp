// Products in bf16 with sums in f32, on processors with AVX-512 BF16. If the processor also has AMX and the
// depth is a multiple of 32, products use tiles. Rounding is to nearest even. As in f32, the order of sums
// is fixed, so the bits of a row do not depend on other rows.
#pragma once

#include <cstdint>
#include <vector>

#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::kernels {

/// Two bf16 that are neighbours along the depth of a product. The first is in the low half.
using Bf16Pair = std::uint32_t;

/// The number of pairs in a piece of a row.
constexpr int kPiecePairs = 16;

/// Rows of pairs, in pieces of kPiecePairs pairs. Rows begin `stride` pairs apart. The pieces of a row begin
/// `pieceStep` pairs apart. If there are no gaps between the pieces, pieceStep is kPiecePairs.
template <class Pair>
struct RowsOfPairs {
    Pair* data;
    size_t stride;
    size_t pieceStep = kPiecePairs;

    /// Returns row `row` and all later rows, without the first `word` pairs of each row.
    RowsOfPairs from(size_t row, size_t word = 0) const {
        return {data + row * stride + word / kPiecePairs * pieceStep + word % kPiecePairs, stride, pieceStep};
    }
};
using PairRows = RowsOfPairs<Bf16Pair>;
using ConstPairRows = RowsOfPairs<const Bf16Pair>;

bool hasBf16();
/// Returns whether AMX tiles are available. Products use tiles if the depth is a multiple of a tile's depth.
bool multipliesInTiles();

inline int pairsOf(int width) {
    return (width + 1) / 2;
}

/// Multiplies a row by `factor` and rounds the results to pairs. If `width` is odd, a zero completes the last
/// pair. `pieceStep` is as in RowsOfPairs.
void packPairs(const float* row, int width, Bf16Pair* pairs, float factor = 1,
               size_t pieceStep = kPiecePairs);
/// Rounds two rows to pairs, a pair for each column. If `second` is null, the second row is zeros.
void interleaveRows(const float* first, const float* second, int width, Bf16Pair* pairs);

class PackedWeightsBf16 : public Panels<Bf16Pair, 2> {
public:
    PackedWeightsBf16() = default;
    PackedWeightsBf16(const float* weights, size_t stride, int depth, int columns);
};

/// Like product(); `rowStride` is in pairs.
void productBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, float* output, size_t outputStride);
/// Like the function above, but writes rows of pairs for the next product, and computes GELU only to the
/// precision of bf16. Ignores Epilogue::add.
void productBf16(const Bf16Pair* rows, size_t rowStride, int count, const PackedWeightsBf16& weights,
                 const Epilogue& epilogue, const PairRows& output);

}  // namespace mpm::kernels
