// Costs from the converter's findings. A template, since the pipeline does not include the converter: `Found`
// is models::Conversion.
#pragma once

#include "pipeline/segment/flops.hpp"

namespace mpm::pipeline {

template <class Found>
DecoderCost decoderCostFrom(const Found& found, double imageTokens, double larger) {
    DecoderCost cost;
    // A decoder on another grid than the backbone's does not follow it.
    cost.tokens = found.rows < imageTokens ? 0 : larger * imageTokens;
    cost.others = found.rows < imageTokens ? larger * found.rows : found.rows - imageTokens;
    cost.width = found.width;
    cost.attentionWeights = found.attentionWeights;
    cost.mlpWeights = found.mlpWeights;
    cost.merged = found.merged;
    return cost;
}

/// `input`: of the network, in pixels.
template <class Found>
ModelCost costFrom(const Found& found, cv::Size input) {
    ModelCost cost;
    cost.attentionWeights = found.attentionWeights;
    cost.mlpWeights = found.mlpWeights;
    cost.width = found.dim, cost.attentionWidth = found.attentionWidth, cost.heads = found.heads;
    cost.otherTokens = found.otherTokens;
    cost.windows = found.windowCount, cost.padding = found.padding;
    cost.windowed = found.windowed;
    // A model without a fixed size was counted at a size of the reader's choice.
    const double pixels = found.size.area() > 0 ? found.size.area() : 1;
    const double larger = input.area() / pixels;
    cost.around = found.gflopsAround * 1e9 * larger;
    for (const auto& decoder : found.decoders)
        cost.decoders.push_back(decoderCostFrom(decoder, found.imageTokens, larger));
    return cost;
}

}  // namespace mpm::pipeline
