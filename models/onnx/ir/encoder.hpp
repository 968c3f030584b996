// A transformer encoder, independent of its form in the export.
#pragma once

#include <optional>

#include "models/onnx/ir/norm.hpp"

namespace mpm::models {

struct Dense {
    Tensor weight;  ///< [K, N], y = x W
    Tensor bias;    ///< [N], optional
    bool present() const { return weight.known(); }
};

/// Rotary tables of all tokens of the stream, [heads or 1, T, head size]. Special tokens have the angle 0.
struct Rope {
    Tensor cos;
    Tensor sin;
    bool interleaved = true;  ///< pairs (2i, 2i+1), else (i, i + half)

    bool turns(int64_t token) const {
        const int64_t size = cos.dim(2);
        for (int64_t k = 0; k < cos.dim(0) * size; ++k) {
            const int64_t at = (k / size * cos.dim(1) + token) * size + k % size;
            if (cos.f()[at] != 1 || sin.f()[at] != 0) return true;
        }
        return false;
    }
};

struct Attention {
    Norm norm;
    Dense qkv;  ///< columns q, k, v, each heads x head size
    Norm qNorm, kNorm;
    Norm inner;  ///< before the projection
    Dense proj;
    int heads = 0;
    float scale = 0;
    std::optional<Rope> rope;
    Tensor keyBias;  ///< [T], optional
};

struct Mlp {
    Norm norm;
    Dense fc1;
    Dense gate;  ///< optional
    Norm inner;  ///< before fc2
    Dense fc2;
    std::string activation;
};

/// Which axis of the token stream is the batch.
enum class Layout { BatchFirst, TokensFirst };

struct Block {
    Attention attention;
    Mlp mlp;
    int input = -1;   ///< values of the graph
    int middle = -1;  ///< the inner sum: between attention and MLP unless they are parallel
    int output = -1;
    int mlpBranch = -1;     ///< the MLP's term, if the match of attention found it
    bool parallel = false;  ///< attention and MLP read the same tokens
    Layout layout = Layout::BatchFirst;
    int64_t tokens = 0;
    int64_t batch = 0;
    int64_t rows = 0;  ///< of the token stream, for all images
    /// The rows of the stream that each attention reads (-1: a row of padding); empty if each attention reads
    /// an image.
    List<List<int32_t>> windows;
    List<Rope> ropes;        ///< by window, if attention is rotary
    int probabilities = -1;  ///< value of the graph
};

struct Tap {
    int block = 0;
    bool normed = false;
    int value = -1;  ///< the value of the graph that the operator's output replaces
};

/// A reducer, in the form of Encoder::setMethod, and the blocks before which it merges.
struct Merging {
    std::string method = "mpm";
    List<int> schedule;
};

/// Attention within windows of image tokens. Order of the tokens: the special tokens, by window in raster
/// order, then the image tokens in raster order.
struct Windows {
    int64_t rows = 0, columns = 0;  ///< of a window; 0: each block is global
    int special = 0;                ///< tokens of each window
    bool padding = false;           ///< windows do not divide the grid, and the export pads the grid
    List<int> globalBlocks;
    List<int32_t> places;  ///< by row of the export's stream: the operator's row, over all images
    int source = -1;       ///< value: the embedded patches, [batch, D, rows, columns] or channels last
    bool channelsLast = false;
    Tensor table;      ///< added to the embedded patches, [tokens, D]
    List<Norm> norms;  ///< of the tokens before the first block

    bool present() const { return rows > 0; }
};

struct EncoderSpec {
    List<Block> blocks;
    int64_t tokens = 0;  ///< with special tokens
    int64_t dim = 0;
    int special = 0;   ///< rows in front of the image tokens
    int trailing = 0;  ///< rows behind the image tokens
    Windows windows;
    int64_t gridRows = 0, gridColumns = 0;  ///< 0 if unknown
    List<Tap> taps;
    Norm norm;  ///< final norm, for the normed taps
    bool decoder = false;
    int firstBlock = 0;   ///< number in the chain
    int chainBlocks = 0;  ///< of the whole chain; 0 if the encoder is not a segment
    bool takesMap = false, givesMap = false;

    int input() const { return blocks.front().input; }
    int output() const { return blocks.back().output; }
    int64_t imageTokens() const { return tokens - special - trailing; }
    int endBlock() const { return firstBlock + static_cast<int>(blocks.size()); }
    int heads() const { return blocks.front().attention.heads; }
    /// Returns the row of a token in the values between blocks.
    int64_t rowOf(int64_t image, int64_t token) const {
        const Block& block = blocks.front();
        return block.layout == Layout::BatchFirst ? image * block.tokens + token
                                                  : token * block.batch + image;
    }
};

}  // namespace mpm::models
