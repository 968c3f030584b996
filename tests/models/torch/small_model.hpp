// Small segmenters for tests.
#pragma once

#include "models/torch/model/segmenter.hpp"

namespace mpm::models {

inline SegmenterOptions smallOptions(int64_t height, int64_t width, int64_t classes) {
    SegmenterOptions options;
    options.vit.height = height;
    options.vit.width = width;
    options.vit.dim = 64;
    options.vit.depth = 3;
    options.vit.heads = 2;
    options.classes = classes;
    return options;
}

inline Segmenter smallModel(const SegmenterOptions& options, uint64_t seed) {
    torch::manual_seed(seed);
    Segmenter model(options);
    initialise(model);
    torch::NoGradGuard noGrad;  // with the initial ones and zeros, tests could not notice swapped weights
    for (auto& parameter : model->parameters())
        parameter.add_(torch::randn(parameter.sizes()) * 0.05);
    model->eval();
    return model;
}

}  // namespace mpm::models
