// Operations of the whole network for an image, with the true token counts.
#pragma once

#include <string>
#include <vector>

#include "pipeline/segment/network.hpp"

namespace mpm::pipeline {

/// An encoder behind the backbone. It never merges, but follows reuse.
struct DecoderCost {
    double tokens = 0;                                 ///< that are the backbone's image tokens
    double others = 0;                                 ///< rows that are always computed
    double width = 0;                                  ///< of queries, keys and values
    std::vector<double> attentionWeights, mlpWeights;  ///< by block
    bool merged = false;                               ///< computes the backbone's merged tokens
};

/// The sizes that a model's operations follow from. Engines report them differently or not at all, so they
/// are read from the model file by the caller.
struct ModelCost {
    std::vector<double> attentionWeights;  ///< by block: elements of the products of qkv and projection
    std::vector<double> mlpWeights;        ///< by block
    int width = 0;                         ///< of a token
    int attentionWidth = 0;                ///< of queries, keys and values
    int heads = 1;
    std::vector<int> otherTokens;  ///< by block: tokens that are not of the image; none if empty
    double windows = 1;            ///< of an image; tokens of one window merge
    double padding = 0;            ///< rows that complete all windows
    std::vector<char> windowed;    ///< by block: whether it attends within windows; in none if empty
    std::vector<DecoderCost> decoders;
    bool mapGiven = false;  ///< the tokens come with a map, the first stage: nothing was matched for it
    double around = 0;      ///< operations outside of all blocks: embedding, head
};

/// The cost of a network with random weights.
ModelCost costOf(const RandomModel& model);

/// Two operations a multiply-add, as in the literature. Counted are products and attention with the tokens
/// that took part in them, and the similarities each method computes to merge.
class FlopsCounter {
public:
    explicit FlopsCounter(ModelCost cost) : m_cost(std::move(cost)) {}

    /// Operations of an image; NaN if cost and report differ in the number of blocks. `method` is a
    /// name of Encoder::setMethod.
    double image(const mpm::ImageReport& report, const std::string& method = "mpm") const;

    /// The operations by block of the backbone, each with the merge before it.
    std::vector<double> blocks(const mpm::ImageReport& report, const std::string& method = "mpm") const;

    /// The operations of a block with these numbers of image tokens in attention and MLP. `attended`: tokens
    /// they attend to; if negative, those of the attention.
    double block(size_t index, double attention, double mlp, double attended = -1) const;

    /// The operations of the decoders, if the part `share` of the rows is computed, and the part `left` of
    /// the image tokens is left after merging.
    double decoders(double share, double left) const;

    /// Operations by which a method decides which of `entering` image tokens merge. Throws cv::Exception on
    /// an unknown method.
    double merging(double entering, const std::string& method) const;

    const ModelCost& cost() const { return m_cost; }

private:
    double others(size_t index) const;

    ModelCost m_cost;
};

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
