// Counts the operations of the whole network for an image, with the true token counts.
#pragma once

#include <string>
#include <vector>

#include "pipeline/segment/network.hpp"

namespace mpm::pipeline {

/// A decoder's encoder, after the backbone. It never merges, but follows reuse.
struct DecoderCost {
    double tokens = 0;                                 ///< rows for the backbone's image tokens
    double others = 0;                                 ///< rows that are always computed
    double width = 0;                                  ///< of queries, keys and values
    std::vector<double> attentionWeights, mlpWeights;  ///< by block
    bool merged = false;  ///< whether the decoder computes the backbone's merged tokens
};

/// Sizes that determine a model's operations. The caller reads them from the model file, because engines
/// report them differently or not at all.
struct ModelCost {
    std::vector<double> attentionWeights;  ///< by block: elements of the products of qkv and projection
    std::vector<double> mlpWeights;        ///< by block
    int width = 0;                         ///< of a token
    int attentionWidth = 0;                ///< of queries, keys and values
    int heads = 1;
    std::vector<int> otherTokens;  ///< by block: tokens other than image tokens; none if empty
    double windows = 1;            ///< windows of an image; only tokens of the same window merge
    double padding = 0;            ///< rows added to complete all windows
    std::vector<char> windowed;    ///< by block: whether attention is within windows; empty: never
    std::vector<DecoderCost> decoders;
    bool mapGiven = false;  ///< the first stage is a map of the input: nothing was matched
    double around = 0;      ///< operations outside of all blocks: embedding, head
};

/// The cost of a network with random weights.
ModelCost costOf(const RandomModel& model);

/// Counts two operations for a multiply-add, as in the literature: products and attention with the tokens
/// that took part, and the similarities that each method computes to merge.
class FlopsCounter {
public:
    explicit FlopsCounter(ModelCost cost) : m_cost(std::move(cost)) {}

    /// Operations of an image; NaN if cost and report differ in the number of blocks. `method` is a
    /// name of Encoder::setMethod.
    double image(const mpm::ImageReport& report, const std::string& method = "mpm") const;

    /// The operations of each block of the backbone, including the merge before the block.
    std::vector<double> blocks(const mpm::ImageReport& report, const std::string& method = "mpm") const;

    /// The operations of a block with these numbers of image tokens in attention and MLP. `attended`: tokens
    /// attended to; if negative, the same as `attention`.
    double block(size_t index, double attention, double mlp, double attended = -1) const;

    /// The operations of the decoders, if the share `share` of the rows is computed, and the share `left` of
    /// the image tokens is left after merging.
    double decoders(double share, double left) const;

    /// Operations of a method to decide which of `entering` image tokens merge. Throws cv::Exception on an
    /// unknown method.
    double merging(double entering, const std::string& method) const;

    const ModelCost& cost() const { return m_cost; }

private:
    double others(size_t index) const;

    ModelCost m_cost;
};

template <class Found>
DecoderCost decoderCostFrom(const Found& found, double imageTokens, double larger) {
    DecoderCost cost;
    // A decoder on a grid other than the backbone's does not follow reuse.
    cost.tokens = found.rows < imageTokens ? 0 : larger * imageTokens;
    cost.others = found.rows < imageTokens ? larger * found.rows : found.rows - imageTokens;
    cost.width = found.width;
    cost.attentionWeights = found.attentionWeights;
    cost.mlpWeights = found.mlpWeights;
    cost.merged = found.merged;
    return cost;
}

/// `input`: size of the network's input, in pixels.
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
