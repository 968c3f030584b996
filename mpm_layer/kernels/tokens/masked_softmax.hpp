// Softmax of a row of which a mask leaves out some elements.
#pragma once

namespace mpm::kernels {

/// The softmax of those of `count` scores (at least 1) whose mask is not negative, 0 for the others; of all
/// scores if every mask is negative, or if there is no mask. A mask that is NaN is not negative. `to` may be
/// `scores`.
void maskedSoftmax(const float* scores, const float* mask, int count, float* to);

}  // namespace mpm::kernels
