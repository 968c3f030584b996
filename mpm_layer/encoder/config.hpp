// The description of a transformer encoder: dimensions, options and weights by name. See
// docs/reference/operators.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "base/norm_rule.hpp"
#include "mpm_layer/kernels/product/product.hpp"

namespace mpm {

enum class Rotary { Interleaved, Halves };

struct EncoderConfig {
    int blocks = 0;
    int firstBlock = 0;
    int heads = 0;
    int specialTokens = 1;
    int trailingTokens = 0;  ///< rows after the image tokens; never merged
    int dim = 0;             ///< values of a token; 0: taken from the weights
    std::vector<int> schedule;
    std::string method = "mpm";  ///< a string for Encoder::setMethod
    std::vector<int> taps;       ///< blocks after which tokens are output
    std::vector<int> tapNorm;    ///< for each tap: 1 applies the final norm
    NormRule norm;               ///< norms before attention and MLP
    NormRule innerNorm;          ///< norms within attention and MLP
    NormRule finalNorm;
    kernels::Activation activation = kernels::Activation::Gelu;
    bool parallel = false;  ///< attention and MLP of a block read the same tokens
    float scale = 0;        ///< factor of attention logits; 0: 1 / sqrt(head size)
    Rotary rotary = Rotary::Interleaved;
    bool int8 = true;  ///< false: with precision i8, all layers stay in f32
    /// With precision i8, the first block whose layers run in plain int8 (one byte for each weight). If the
    /// value is not 0, the layer `proj` does not run in plain int8 in any block.
    int int8From = 0;
    bool merges = true;  ///< false: a decoder's encoder, which never merges
    cv::Size grid;
    cv::Size window;                ///< in tokens; empty: attention and merging run over the whole image
    bool padding = false;           ///< windows at the edge of the grid are filled up with rows of zeros
    std::vector<int> globalBlocks;  ///< with windows: blocks that attend over the whole image
    bool takesMap = false;          ///< merge maps are an input
    bool mapOutput = false;         ///< the composed map is the last output
    std::string chain;
    int chainBlocks = 0;  ///< blocks of the whole chain; 0: the encoder is not a segment

    int lastBlock() const { return firstBlock + blocks - 1; }
    bool windowed() const { return !window.empty(); }
    /// Returns whether reports and imposed maps number clusters in the order of the representatives. If not,
    /// clusters are numbered in the order of the rows.
    bool numbersByRepresentative() const { return takesMap || chainBlocks > 0 || windowed(); }
    int windows() const;  ///< number of windows of an image; 1 without windows
    /// Returns the number of rows in front of the image tokens: the special tokens of all windows.
    int specialRows() const;
    /// Returns whether all rows of an image attend to each other in this block.
    bool isGlobal(int block) const;
    int outputs() const { return static_cast<int>(taps.size()) + (mapOutput ? 1 : 0); }
    /// Returns whether the encoder is a segment of a chain, but not the first segment. Such an encoder keeps
    /// the cluster numbers of the previous segment.
    bool continues() const { return chainBlocks > 0 && firstBlock > 0; }
    int blocksOfChain() const { return chainBlocks > 0 ? chainBlocks : blocks; }
    /// Returns the configuration of the whole chain as a single encoder. Schedules use the block numbers of
    /// the chain.
    EncoderConfig ofChain() const;
};

/// Throws if blocks are not in the encoder or do not strictly increase. The message names `origin`,
/// the source of the schedule.
void checkSchedule(const std::vector<int>& schedule, const EncoderConfig& config,
                   const std::string& origin = "");
void checkConfig(const EncoderConfig& config);

kernels::Activation activationFrom(const std::string& name);

/// The constant inputs of the operator, by name (such as "3.qkv.weight").
class NamedWeights {
public:
    void add(const std::string& name, const cv::Mat& value);
    bool has(const std::string& name) const { return m_values.count(name) != 0; }

    /// Returns a vector of `size` floats; empty if the name is absent.
    std::vector<float> vector(const std::string& name, int size) const;
    std::vector<float> requiredVector(const std::string& name, int size) const;
    /// Returns a matrix. Throws if the matrix is absent or has another shape. `columns` 0: any number.
    cv::Mat matrix(const std::string& name, int rows, int columns) const;
    /// Returns the weight without a check of its shape; throws if the weight is absent.
    const cv::Mat& raw(const std::string& name) const;
    const std::map<std::string, cv::Mat>& all() const { return m_values; }

private:
    std::map<std::string, cv::Mat> m_values;
};

/// Throws if a name is unknown, occurs twice or is missing. Without this check, a weight with a wrong name
/// would be ignored and the encoder would silently compute something else.
void checkWeightNames(const std::vector<std::string>& names, const EncoderConfig& config);

}  // namespace mpm
