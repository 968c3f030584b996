// A batch as kernels see it: how long it is stands in device memory, launches are for a bound.
#pragma once

namespace mpm::cuda {

struct BatchView {
    const int* offsets;  ///< on the device: first row of each image, and the number of rows at the end
    int images;
    int special;  ///< rows in front of each image's tokens
    int dim;
    int rows;     ///< no fewer than there are
    int longest;  ///< rows of an image, no fewer than any has
};

/// What a merge leaves, as the processor reads it.
struct Extent {
    int rows, longest;
};

}  // namespace mpm::cuda
