// The dimensions of an encoder as its weights give them, checked against each other: the same on every
// device.
#pragma once

#include <string>

#include "mpm_layer/encoder/config.hpp"

namespace mpm {

struct EncoderShape {
    int dim = 0, heads = 0, headSize = 0;
    float attentionScale = 0;

    int inner() const { return heads * headSize; }
};

EncoderShape encoderShape(const EncoderConfig& config, const NamedWeights& weights);

/// Rotary tables of a block: the tables of the block if it has some, else those of all blocks.
struct RotaryShape {
    std::string name;  ///< weights name + "cos" and name + "sin"
    int tables = 0;    ///< 0 if there are none, else 1 or one for each head
    int positions = 0;
};

RotaryShape rotaryShape(const NamedWeights& weights, const std::string& prefix, const EncoderShape& shape);

/// Throws if tables for `positions` tokens (0: no tables) do not fit an image of `imageTokens`.
void checkRotary(int positions, int imageTokens);
/// Whether the rotary tables of a block have a row for each token of a window, not of the image. Throws if
/// they have neither, or if they would have to be for padding but are not.
bool rotatesByWindow(const EncoderConfig& config, int block, int positions, int imageTokens);

}  // namespace mpm
