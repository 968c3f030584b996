// Reads the dimensions of an encoder from its weights, and checks them against each other, for all devices.
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

/// The rotary tables of a block: its own tables if it has any, else the tables of all blocks.
struct RotaryShape {
    std::string name;  ///< the names of the weights are name + "cos" and name + "sin"
    int tables = 0;    ///< 0 if there are none; else 1, or one for each head
    int positions = 0;
};

RotaryShape rotaryShape(const NamedWeights& weights, const std::string& prefix, const EncoderShape& shape);

/// Throws if tables for `positions` tokens (0: no tables) do not fit an image of `imageTokens`.
void checkRotary(int positions, int imageTokens);
/// Whether the rotary tables of a block have a row for each token of a window, not of the image. Throws if
/// they have another number of rows, or if a block with padding has tables of the image.
bool rotatesByWindow(const EncoderConfig& config, int block, int positions, int imageTokens);

}  // namespace mpm
