// The number of operations of the whole network for an image, with the true token counts.
#pragma once

#include <string>
#include <vector>

#include "pipeline/segment/network.hpp"

namespace mpm::pipeline {

/// A decoder's encoder, which never merges. With reuse, it computes the backbone's share of tokens.
struct DecoderCost {
    double tokens = 0;                                 ///< rows for the backbone's image tokens
    double others = 0;                                 ///< rows that are always computed
    double width = 0;                                  ///< of queries, keys and values
    std::vector<double> attentionWeights, mlpWeights;  ///< by block
    bool merged = false;  ///< whether the decoder reads the backbone's merged tokens
};

/// The sizes that determine a model's operations. The caller must read them from the model file, because
/// engines report them differently or not at all.
struct ModelCost {
    std::vector<double> attentionWeights;  ///< by block: number of weights of qkv and projection
    std::vector<double> mlpWeights;        ///< by block
    int width = 0;                         ///< of a token
    int attentionWidth = 0;                ///< of queries, keys and values
    int heads = 1;
    std::vector<int> otherTokens;  ///< by block: tokens other than image tokens; none if empty
    double windows = 1;            ///< windows of an image; only tokens of the same window merge
    double padding = 0;            ///< rows added to complete all windows
    std::vector<char> windowed;    ///< by block: whether attention is within windows; empty: never
    std::vector<DecoderCost> decoders;
    bool mapGiven = false;  ///< whether the first stage is a map of the input, which needed no matching
    double around = 0;      ///< operations outside of all blocks: embedding, head
};

ModelCost costOf(const RandomModel& model);

/// Counts operations, two for a multiply-add, as in the literature: products and attention of the tokens that
/// took part, and the similarities that a method computes to choose the tokens to merge.
class FlopsCounter {
public:
    explicit FlopsCounter(ModelCost cost) : m_cost(std::move(cost)) {}

    /// Returns the operations of an image; NaN if cost and report differ in the number of blocks. `method`: a
    /// name of Encoder::setMethod.
    double image(const mpm::ImageReport& report, const std::string& method = "mpm") const;

    /// Returns the operations of each block of the backbone, including its merges.
    std::vector<double> blocks(const mpm::ImageReport& report, const std::string& method = "mpm") const;

    /// Returns the operations of a block. `attention`, `mlp`: image tokens that attention and MLP compute.
    /// `attended`: image tokens that attention reads; if negative, as many as `attention`.
    double block(size_t index, double attention, double mlp, double attended = -1) const;

    /// Returns the operations of the decoders if they compute the share `share` of their rows, and the share
    /// `left` of the image tokens is left after merging.
    double decoders(double share, double left) const;

    /// Returns the operations by which a method decides which of `entering` image tokens merge. Throws
    /// cv::Exception on an unknown method.
    double merging(double entering, const std::string& method) const;

    const ModelCost& cost() const { return m_cost; }

private:
    double others(size_t index) const;

    ModelCost m_cost;
};

template <class Found>
DecoderCost decoderCostFrom(const Found& found, double imageTokens, double larger) {
    DecoderCost cost;
    // A decoder with fewer rows than the backbone has another grid and does not follow reuse.
    cost.tokens = found.rows < imageTokens ? 0 : larger * imageTokens;
    cost.others = found.rows < imageTokens ? larger * found.rows : found.rows - imageTokens;
    cost.width = found.width;
    cost.attentionWeights = found.attentionWeights;
    cost.mlpWeights = found.mlpWeights;
    cost.merged = found.merged;
    return cost;
}

/// Returns the cost of a model. `input`: size of the network's input, in pixels.
template <class Found>
ModelCost costFrom(const Found& found, cv::Size input) {
    ModelCost cost;
    cost.attentionWeights = found.attentionWeights;
    cost.mlpWeights = found.mlpWeights;
    cost.width = found.dim, cost.attentionWidth = found.attentionWidth, cost.heads = found.heads;
    cost.otherTokens = found.otherTokens;
    cost.windows = found.windowCount, cost.padding = found.padding;
    cost.windowed = found.windowed;
    // If the model leaves its size open, the reader of the file chose found.size for its counts.
    const double pixels = found.size.area() > 0 ? found.size.area() : 1;
    const double larger = input.area() / pixels;
    cost.around = found.gflopsAround * 1e9 * larger;
    for (const auto& decoder : found.decoders)
        cost.decoders.push_back(decoderCostFrom(decoder, found.imageTokens, larger));
    return cost;
}

}  // namespace mpm::pipeline
