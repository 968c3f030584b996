// Random changes to a labelled picture.
#pragma once

#include "models/torch/data/batches.hpp"

namespace mpm::models {

/// A crop of the asked size from the picture at a random scale and place, perhaps flipped, coloured or
/// darkened. What lies outside the picture is grey and ignored.
pipeline::Sample augment(const pipeline::Sample& sample, const AugmentOptions& options, int ignored,
                         Random& random);

}  // namespace mpm::models
