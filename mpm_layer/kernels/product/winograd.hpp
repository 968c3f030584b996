// Winograd's transforms for 3x3 convolutions, F(4x4, 3x3): tiles of 4x4 outputs from 6x6 inputs. Between the
// transforms, a tile needs 36 products instead of 144. The interpolation points are 0, +-sqrt(1/2), +-sqrt(2)
// and infinity. With these points, sums lose a decimal digit of precision; with the usual points 0, +-1 and
// +-2, sums lose two digits.
#pragma once

#include <cstddef>

namespace mpm::kernels {

constexpr int kWinogradTile = 4, kWinogradInput = 6, kWinogradProducts = 36;

/// Computes the 36 factors of the 3x3 weights of a convolution.
void winogradKernel(const float (&kernel)[9], float (&factors)[kWinogradProducts]);

/// Computes the factors of neighbouring tiles in six rows of pixels. In each row, a vector after the last
/// pixel must be readable. Factor k of tile t is written to factors[k * stride + t]. Always writes whole
/// vectors, even beyond the last tile. `scratch` has winogradScratch(tiles) floats. Returns false if a pixel
/// is NaN or its absolute value exceeds `limit`.
bool winogradInput(const float* const (&rows)[kWinogradInput], int tiles, float limit, float* scratch,
                   float* factors, size_t stride);
constexpr size_t winogradScratch(int tiles) {
    constexpr size_t kLanes = 16;  // of the widest vector
    return kWinogradInput * kWinogradTile * (static_cast<size_t>(tiles) + 2 * kLanes + 1);
}

/// Computes four rows of outputs, `rowStride` floats apart, from the sums of products. Sum k of tile t is at
/// sums[k * stride + t]. Always reads whole vectors of tiles, and writes the outputs of all lanes.
void winogradOutput(const float* sums, size_t stride, int tiles, float bias, float* rows, size_t rowStride);

}  // namespace mpm::kernels
