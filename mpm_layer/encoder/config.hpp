// The description of a transformer encoder: its dimensions, its options and its weights by name. See
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
    int trailingTokens = 0;  ///< behind the image tokens; never merged either
    int dim = 0;             ///< 0 until the weights are seen
    std::vector<int> schedule;
    std::string method = "mpm";  ///< as Encoder::setMethod takes it
    std::vector<int> taps;       ///< blocks after which tokens are handed out
    std::vector<int> tapNorm;    ///< per tap: with the final norm
    NormRule norm;               ///< before attention and MLP
    NormRule innerNorm;          ///< within them
    NormRule finalNorm;
    kernels::Activation activation = kernels::Activation::Gelu;
    bool parallel = false;  ///< attention and MLP of a block read the same tokens
    float scale = 0;        ///< 0: one over the root of the head size
    Rotary rotary = Rotary::Interleaved;
    bool merges = true;  ///< false: a decoder's blocks
    cv::Size grid;
    cv::Size window;                ///< of tokens; empty: attention and merging run over the whole image
    bool padding = false;           ///< windows at the edge of the grid are filled up with rows of zeros
    std::vector<int> globalBlocks;  ///< with windows, those that attend over the whole image
    bool takesMap = false;          ///< clusters of image tokens come in with the tokens
    bool mapOutput = false;         ///< the composed map is the last output
    std::string chain;
    int chainBlocks = 0;  ///< of the chain that this encoder is a segment of; 0: of none

    int lastBlock() const { return firstBlock + blocks - 1; }
    bool windowed() const { return !window.empty(); }
    /// Whether the clusters of reports and imposed maps have the order of their representatives, not of the
    /// rows.
    bool numbersByRepresentative() const { return takesMap || chainBlocks > 0 || windowed(); }
    int windows() const;  ///< of an image; 1 without windows
    /// In front of the image tokens: the special tokens of all windows.
    int specialRows() const;
    /// Whether all rows of an image attend to each other in the block of this number.
    bool isGlobal(int block) const;
    int outputs() const { return static_cast<int>(taps.size()) + (mapOutput ? 1 : 0); }
    /// A segment behind another one: its map numbers clusters as that one left them.
    bool continues() const { return chainBlocks > 0 && firstBlock > 0; }
    int blocksOfChain() const { return chainBlocks > 0 ? chainBlocks : blocks; }
    /// The whole chain as one encoder, which a schedule refers to.
    EncoderConfig ofChain() const;
};

/// Throws with the name of the setting, and of who set it, where blocks are not strictly increasing within
/// the encoder.
void checkSchedule(const std::vector<int>& schedule, const EncoderConfig& config,
                   const std::string& origin = "");
void checkConfig(const EncoderConfig& config);

kernels::Activation activationFrom(const std::string& name);

/// Constant inputs of the operator by their names ("3.qkv.weight").
class NamedWeights {
public:
    void add(const std::string& name, const cv::Mat& value);
    bool has(const std::string& name) const { return m_values.count(name) != 0; }

    /// A vector of `size` floats; empty if the name is absent.
    std::vector<float> vector(const std::string& name, int size) const;
    std::vector<float> requiredVector(const std::string& name, int size) const;
    /// A matrix with `rows` rows; a `columns` of 0 takes any number. Throws if absent or of another shape.
    cv::Mat matrix(const std::string& name, int rows, int columns) const;
    /// As it came, for those who know the shape; throws if absent.
    const cv::Mat& raw(const std::string& name) const;
    const std::map<std::string, cv::Mat>& all() const { return m_values; }

private:
    std::map<std::string, cv::Mat> m_values;
};

/// Throws with the name that is unknown, given twice or missing. A weight under a wrong name would be passed
/// over, and the encoder would compute something else without a word.
void checkWeightNames(const std::vector<std::string>& names, const EncoderConfig& config);

}  // namespace mpm
