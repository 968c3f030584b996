// The batch as a kernel's argument: the length is in device memory, and launches use an upper bound.
#pragma once

namespace mpm::cuda {

struct BatchView {
    const int* offsets;  ///< on the device: first row of each image, and the number of rows at the end
    int images;
    int special;  ///< rows in front of each image's tokens
    int dim;
    int rows;     ///< upper bound of all rows
    int longest;  ///< upper bound of the rows of an image
};

/// The size of the batch after a merge, which the CPU reads.
struct Extent {
    int rows, longest;
};

}  // namespace mpm::cuda
