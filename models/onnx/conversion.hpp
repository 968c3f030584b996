// The result of a conversion.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::models {

/// The cost of a decoder's encoder, for an image.
struct DecoderCost {
    double rows = 0, width = 0;  ///< number of tokens; width of the queries of all heads
    std::vector<double> attentionWeights, mlpWeights;
    bool merged = false;  ///< whether the encoder computes the backbone's merged tokens
};

/// The normalisation of RGB values from 0 to 1: (value - mean) / deviation.
struct Pixels {
    bool known = false;  ///< whether mean and deviation have been determined
    cv::Scalar mean, deviation;
    std::string origin;  ///< of mean and deviation, for the report
};

/// The description of a model, and the result of the proof if the model was converted.
struct Conversion {
    int blocks = 0, dim = 0, heads = 0;
    int segments = 0;                                            ///< segments in the encoder's chain
    int specialTokens = 0, imageTokens = 0, trailingTokens = 0;  ///< of the first segment
    std::vector<int> otherTokens;  ///< for each block, the number of tokens that are not image tokens
    cv::Size size, grid;
    int batch = 0;  ///< 0: dynamic
    std::string norm, activation, attention, decoder;
    std::string windows;                  ///< description of the attention windows; empty: none
    double windowCount = 1, padding = 0;  ///< windows in an image; rows of padding in these windows
    std::vector<char> windowed;           ///< for each block, whether it attends within windows
    int besideBlocks = 0;                 ///< blocks of other encoders that do not read the backbone's output
    std::vector<int> taps;                ///< blocks after which an output leaves the encoder
    std::string method = "mpm";
    std::vector<int> schedule;
    bool byDefault = false;  ///< neither the options nor the file named a method or a schedule
    Pixels pixels;
    double parameters = 0;
    double gflops = 0;                ///< for an image, without merging
    double gflopsMerged = 0;          ///< with the method's usual number of tokens; NaN if unknown
    std::vector<double> usualTokens;  ///< image tokens in each block, then after the last; empty if unknown
    std::vector<double> attentionWeights, mlpWeights;  ///< number of weights in each block
    int attentionWidth = 0;                            ///< width of the queries of all heads
    std::vector<DecoderCost> decoders;
    double gflopsAround = 0;  ///< GFLOPs outside of all blocks
    std::string detections;   ///< which outputs are boxes and scores; empty: none
    std::string proof;        ///< how the reference was computed
    std::vector<int> provedBatches;
    double error = 0;
    std::vector<std::string> notes;
};

/// Returns the lines of the report: encoder, tokens, decoder, size, costs.
std::string describe(const Conversion& conversion);

}  // namespace mpm::models
