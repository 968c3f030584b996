// The result of a conversion.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::models {

/// An encoder behind the backbone, for an image.
struct DecoderCost {
    double rows = 0, width = 0;  ///< tokens; values of queries, keys and values
    std::vector<double> attentionWeights, mlpWeights;
    bool merged = false;  ///< computes the backbone's merged tokens
};

/// (value - mean) / deviation of pixels in 0 to 1, RGB.
struct Pixels {
    bool known = false;  ///< false: not asked for
    cv::Scalar mean, deviation;
    std::string origin;  ///< for the report
};

/// The model that was found, and the proof.
struct Conversion {
    int blocks = 0, dim = 0, heads = 0;
    int segments = 0;                                            ///< of the encoder's chain
    int specialTokens = 0, imageTokens = 0, trailingTokens = 0;  ///< of the first segment
    std::vector<int> otherTokens;                                ///< by block: all but those of the image
    cv::Size size, grid;
    int batch = 0;  ///< 0: dynamic
    std::string norm, activation, attention, decoder;
    std::string windows;                  ///< within which blocks attend; empty: there are none
    double windowCount = 1, padding = 0;  ///< windows of an image, rows that complete them
    std::vector<char> windowed;           ///< by block: attends within windows
    int besideBlocks = 0;                 ///< of encoders that neither continue this one nor read its results
    std::vector<int> taps;
    std::string method = "mpm";
    std::vector<int> schedule;
    bool byDefault = false;  ///< neither the options nor the file named method or schedule
    Pixels pixels;
    double parameters = 0;
    double gflops = 0;        ///< of an image, nothing merged
    double gflopsMerged = 0;  ///< with the tokens that the method usually leaves; NaN if that is not known
    std::vector<double>
        usualTokens;  ///< of the image, in each block and behind the last, likewise; else empty
    std::vector<double> attentionWeights, mlpWeights;  ///< elements of each block's products
    int attentionWidth = 0;                            ///< of queries, keys and values
    std::vector<DecoderCost> decoders;
    double gflopsAround = 0;  ///< outside of all blocks
    std::string detections;   ///< which outputs are boxes and scores; empty: none
    std::string proof;        ///< how the reference was computed
    std::vector<int> provedBatches;
    double error = 0;
    std::vector<std::string> notes;
};

/// EncoderSpec, decoder, size and costs, a line each.
std::string describe(const Conversion& conversion);

}  // namespace mpm::models
