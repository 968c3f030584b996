// Structures that describe an encoder, independently of how the export writes it.
#pragma once

#include <optional>

#include "models/onnx/ir/norm.hpp"

namespace mpm::models {

struct Dense {
    Tensor weight;  ///< W of y = x W + b, [inputs, outputs]
    Tensor bias;    ///< b, [outputs]; optional
    bool present() const { return weight.known(); }
};

/// Tables of a rotary position encoding, [heads or 1, tokens, head size]. Special tokens have the angle 0. If
/// there are windows, the tables have rows only for image tokens.
struct Rope {
    Tensor cos;
    Tensor sin;
    bool interleaved = true;  ///< if true, components 2i and 2i + 1 rotate together, else i and i + size / 2

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
    Dense qkv;  ///< columns of q, k and v, in this order; each has heads x head size columns
    Norm qNorm, kNorm;
    Norm inner;  ///< norm before the projection
    Dense proj;
    int heads = 0;
    float scale = 0;
    std::optional<Rope> rope;
    Tensor keyBias;  ///< [T], added to the scores; optional
};

struct Mlp {
    Norm norm;
    Dense fc1;
    Dense gate;  ///< optional
    Norm inner;  ///< norm before fc2
    Dense fc2;
    std::string activation;
};

/// The first axis of the token stream: the batch or the tokens.
enum class Layout { BatchFirst, TokensFirst };

struct Block {
    Attention attention;
    Mlp mlp;
    int input = -1;   ///< `input`, `middle` and `output` are values of the graph
    int middle = -1;  ///< the block's first sum; if `parallel` is false, the MLP reads this sum
    int output = -1;
    int mlpBranch = -1;     ///< the MLP's term, if the block's output is a sum of three terms
    bool parallel = false;  ///< whether attention and MLP read the same tokens
    Layout layout = Layout::BatchFirst;
    int64_t tokens = 0;
    int64_t batch = 0;
    int64_t rows = 0;  ///< rows of the token stream, of all images together
    /// For each window, the rows of the stream that attention reads (-1: a row of padding). Empty if
    /// attention reads whole images in order.
    List<List<int32_t>> windows;
    List<Rope> ropes;        ///< tables for each of `windows`, if attention is rotary
    int probabilities = -1;  ///< value of the graph: the result of attention's softmax
};

/// An output of the encoder: the tokens after a block.
struct Tap {
    int block = 0;
    bool normed = false;
    int value = -1;  ///< the value of the graph that this output of the operator replaces
};

/// A reducer, in the syntax of Encoder::setMethod ("tome:r=13"), and the blocks before which tokens merge.
struct Merging {
    std::string method = "mpm";
    List<int> schedule;
};

/// Windows of image tokens. In the operator's input, an image begins with the special tokens of the first
/// window, then of the second window, and so on. Then all image tokens follow, in raster order.
struct Windows {
    int64_t rows = 0, columns = 0;  ///< size of a window, in tokens; 0: no windows
    int special = 0;                ///< special tokens of each window
    bool padding = false;           ///< whether the export pads the grid, because windows do not divide it
    List<int> globalBlocks;
    List<int32_t> places;  ///< for each row of the export's stream, the row of the operator's input
    int source = -1;       ///< value of the graph: embedded patches, [batch, dim, grid rows, grid columns]
    bool channelsLast = false;
    Tensor table;      ///< [tokens, dim], added to the embedded patches
    List<Norm> norms;  ///< norms of the tokens before the first block

    bool present() const { return rows > 0; }
};

struct EncoderSpec {
    List<Block> blocks;
    int64_t tokens = 0;  ///< of an image, including special and trailing tokens
    int64_t dim = 0;
    int special = 0;   ///< rows in front of the image tokens
    int trailing = 0;  ///< rows behind the image tokens
    Windows windows;
    int64_t gridRows = 0, gridColumns = 0;  ///< 0 if unknown
    List<Tap> taps;
    Norm norm;  ///< final norm; taps with `normed` are after this norm
    bool decoder = false;
    int firstBlock = 0;   ///< number of this encoder's first block in the chain
    int chainBlocks = 0;  ///< blocks of the chain; 0 if the encoder is not a segment
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
