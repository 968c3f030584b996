// Winograd's transforms for 3x3 convolutions, F(4x4, 3x3): tiles of 4x4 outputs from 6x6 inputs. Between the
// transforms, a tile needs 36 products instead of 144. The points are 0, +-sqrt(1/2), +-sqrt(2) and infinity.
// With these points, sums lose a decimal digit; with the usual points 0, +-1, +-2, they lose two.
#pragma once

#include <cstddef>

namespace mpm::kernels {

constexpr int kWinogradTile = 4, kWinogradInput = 6, kWinogradProducts = 36;

/// Computes the 36 factors of a 3x3 kernel.
void winogradKernel(const float (&kernel)[9], float (&factors)[kWinogradProducts]);

/// Computes the factors of tiles that lie beside each other in six rows of pixels, of which a vector after
/// the last pixel must be readable. Factor k of tile t is at factors[k * stride + t]; a whole vector is
/// written from the last tile. `scratch` has winogradScratch(tiles) floats. Returns whether the absolute
/// values of all pixels are at most `limit`; NaN is not.
bool winogradInput(const float* const (&rows)[kWinogradInput], int tiles, float limit, float* scratch,
                   float* factors, size_t stride);
constexpr size_t winogradScratch(int tiles) {
    constexpr size_t kLanes = 16;  // of the widest vector
    return kWinogradInput * kWinogradTile * (static_cast<size_t>(tiles) + 2 * kLanes + 1);
}

/// Computes four rows of outputs, `rowStride` floats apart, from the sums of products. Sum k of tile t is at
/// sums[k * stride + t]. Reads a whole vector from the last tile, and writes the outputs of all of its lanes.
void winogradOutput(const float* sums, size_t stride, int tiles, float bias, float* rows, size_t rowStride);

}  // namespace mpm::kernels
