// Counts the operations of the whole network on an image, from the actual numbers of tokens.
#pragma once

#include <string>
#include <vector>

#include "pipeline/segment/network.hpp"

namespace mpm::pipeline {

/// The cost of a decoder's encoder, which never merges. With reuse, the decoder's encoder computes the same
/// share of tokens as the backbone.
struct DecoderCost {
    double tokens = 0;                                 ///< rows that come from the backbone's image tokens
    double others = 0;                                 ///< rows that are always computed
    double width = 0;                                  ///< width of queries, keys and values
    std::vector<double> attentionWeights, mlpWeights;  ///< by block
    bool merged = false;  ///< whether the decoder reads the backbone's merged tokens
};

/// The sizes on which a model's operations depend. Callers must read the sizes from the model file, because
/// OpenCV's engines report them in different ways or not at all.
struct ModelCost {
    std::vector<double> attentionWeights;  ///< by block: number of weights of qkv and projection
    std::vector<double> mlpWeights;        ///< by block: number of weights of the MLP
    int width = 0;                         ///< number of values of a token
    int attentionWidth = 0;                ///< width of queries, keys and values
    int heads = 1;
    std::vector<int> otherTokens;  ///< by block: tokens that are not image tokens; empty: none
    double windows = 1;            ///< number of windows of an image
    double padding = 0;            ///< rows added to complete all windows
    std::vector<char> windowed;    ///< by block: whether attention stays within windows; empty: never
    std::vector<DecoderCost> decoders;
    bool mapGiven = false;  ///< whether the first stage is a map that the model computes
    double around = 0;      ///< operations outside of all blocks, such as embedding and head
};

ModelCost costOf(const RandomModel& model);

/// Counts operations as in the literature: a multiply-add counts as two operations. Includes the products of
/// computed tokens with weights, the attention of computed tokens, and the similarities from which a method
/// chooses the tokens to merge.
class FlopsCounter {
public:
    explicit FlopsCounter(ModelCost cost) : m_cost(std::move(cost)) {}

    /// Returns the operations of an image; NaN if report and cost have different numbers of blocks.
    /// `method`: an argument of Encoder::setMethod().
    double image(const mpm::ImageReport& report, const std::string& method = "mpm") const;

    /// Returns the operations of each block of the backbone, including its merges.
    std::vector<double> blocks(const mpm::ImageReport& report, const std::string& method = "mpm") const;

    /// Returns the operations of a block. `attention`, `mlp`: numbers of image tokens for which attention and
    /// MLP are computed. `attended`: number of image tokens that attention reads; if negative, `attention`.
    double block(size_t index, double attention, double mlp, double attended = -1) const;

    /// Returns the operations of the decoders. `share`: the share of image tokens that is computed; `left`:
    /// the share of image tokens that remains after merging.
    double decoders(double share, double left) const;

    /// Returns the operations that a method needs to choose which of `entering` image tokens merge. Throws
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
    // If the decoder has fewer rows than the backbone, the grids differ, and reuse computes all decoder rows.
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
    // If the model leaves its input size open, the numbers in `found` are for an input of found.size.
    const double pixels = found.size.area() > 0 ? found.size.area() : 1;
    const double larger = input.area() / pixels;
    cost.around = found.gflopsAround * 1e9 * larger;
    for (const auto& decoder : found.decoders)
        cost.decoders.push_back(decoderCostFrom(decoder, found.imageTokens, larger));
    return cost;
}

}  // namespace mpm::pipeline
