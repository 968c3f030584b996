// Distances of rows in memory, and numbers of rows of products.
#pragma once

#include <cstddef>

#include "mpm_layer/cuda/logic/host_device.hpp"

namespace mpm::cuda {

/// Rows of activations start on 16 bytes in every element type.
MPM_HOST_DEVICE constexpr int paddedWidth(int width) {
    return (width + 7) / 8 * 8;
}

/// Products are computed for whole groups of rows, so that few different shapes have to be planned. Rows of a
/// product are independent: the values of rows beyond the last row are never used.
constexpr int roundedRows(int rows) {
    const int group = rows <= 2048 ? 64 : 256;
    return (rows + group - 1) / group * group;
}

/// Rounds the rows of the longest image: whole tiles of queries.
constexpr int roundedLength(int rows) {
    return (rows + 63) / 64 * 64;
}

}  // namespace mpm::cuda
