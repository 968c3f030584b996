// The tiles of an upper triangle, diagonal included, numbered column by column.
#pragma once

#include <cmath>

#include "mpm_layer/cuda/logic/host_device.hpp"

namespace mpm::cuda {

struct Tile {
    int row, column;
};

MPM_HOST_DEVICE constexpr int tilesAlong(int count, int tile) {
    return (count + tile - 1) / tile;
}

MPM_HOST_DEVICE constexpr int triangleTiles(int side) {
    return side * (side + 1) / 2;
}

/// Tile number `index`. Column by column, for any side of the triangle: the tiles of a smaller
/// triangle come first, so that with an upper bound, only the last blocks have no work.
MPM_HOST_DEVICE inline Tile tileOf(int index) {
    int column = static_cast<int>((sqrtf(8.0f * static_cast<float>(index) + 1.0f) - 1.0f) * 0.5f);
    // The root is exact to a few units: step to the column that holds the index.
    while (triangleTiles(column) > index)
        --column;
    while (triangleTiles(column + 1) <= index)
        ++column;
    return {index - triangleTiles(column), column};
}

}  // namespace mpm::cuda
