// Reads the dimensions of an encoder from its weights, and checks the weights against each other.
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

/// The rotary tables of a block: the block's own tables or, if there are none, the tables for all blocks.
struct RotaryShape {
    std::string name;  ///< the names of the weights are name + "cos" and name + "sin"
    int tables = 0;    ///< 0: no tables; 1: a table for all heads; else a table for each head
    int positions = 0;
};

RotaryShape rotaryShape(const NamedWeights& weights, const std::string& prefix, const EncoderShape& shape);

/// Throws if there are rotary tables (`positions` > 0) and they do not have a row for each image token.
void checkRotary(int positions, int imageTokens);
/// Returns true if a block's rotary tables have a row for each place of a window. Returns false if the tables
/// have a row for each token of the image, or if there are no tables. Throws if the tables have another
/// number of rows, or have a row for each token of the image although the block's windows have padding.
bool rotatesByWindow(const EncoderConfig& config, int block, int positions, int imageTokens);

}  // namespace mpm
