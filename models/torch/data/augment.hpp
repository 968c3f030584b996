// Random changes of a labelled image.
#pragma once

#include "models/torch/data/batches.hpp"

namespace mpm::models {

/// A crop of the requested size at a random scale and place, with random flips, colour changes and night
/// simulation. Pixels outside the image are grey; their label is `ignored`.
pipeline::Sample augment(const pipeline::Sample& sample, const AugmentOptions& options, int ignored,
                         Random& random);

}  // namespace mpm::models
