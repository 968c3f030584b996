// Random encoders with any of the operator's options, for tests.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/runner.hpp"

namespace mpm::test {

struct EncoderOptions {
    int blocks = 3, heads = 3, headSize = 8, hidden = 48, special = 1, trailing = 0, firstBlock = 0;
    std::vector<int> schedule;
    std::string method;  ///< if empty, the attribute is absent
    std::vector<int> taps;
    std::vector<int> tapNorm;
    std::string activation = "gelu";
    std::string rope;  ///< "", "interleaved", "half"
    bool ropePerHead = false;
    bool qkvBias = true, layerScale = false, qkNorm = false, attentionNorm = false, mlpNorm = false,
         gated = false;
    bool finalNorm = true;
    NormKind norm = NormKind::Layer, innerNorm = NormKind::Layer;
    bool parallel = false;
    float scale = 0;
    bool map = false, mapOutput = false;
    std::string chain;
    int chainBlocks = 0;
    int imageTokens = 24;  ///< for the rotary tables
    cv::Size grid, window;
    bool padding = false;
    std::vector<int> globalBlocks;
    bool ropeOfWindow = false;  ///< rotary tables cover one window; in global blocks, the whole grid
    unsigned seed = 1;

    int dim() const { return heads * headSize; }
    /// The number of rows before the image tokens: the special tokens of all windows.
    int specialRows() const;
};

/// The data of an MpmEncoder: the config, and the weights by name. `ordered` has the order of the inputs.
struct EncoderCase {
    EncoderOptions options;
    EncoderConfig config;
    std::vector<std::pair<std::string, cv::Mat>> ordered;
    NamedWeights weights;
};

EncoderCase makeEncoder(const EncoderOptions& options);

/// Cuts an encoder before the blocks of `cuts` into the segments of a chain. Each segment outputs the tokens
/// and the map that the next segment takes.
std::vector<EncoderCase> cutEncoder(const EncoderCase& whole, const std::vector<int>& cuts);

/// Returns a batch [images, special + tokens + trailing, dim] in which neighbouring tokens are similar.
cv::Mat makeBatch(const EncoderOptions& options, int images, int tokens, unsigned seed);

/// Return an image of a batch as a matrix, or as a batch of a single image.
cv::Mat imageOf(const cv::Mat& batch, int image);
cv::Mat batchOfOne(const cv::Mat& batch, int image);

struct Ran {
    std::vector<cv::Mat> outputs;
    Report report;
};

using ChangeSettings = std::function<void(Settings&)>;

/// Runs a new encoder once, after `change` has changed the settings.
Ran runEncoder(const EncoderCase& encoder, const SessionInput& input, const ChangeSettings& change);

/// Runs the segments of cutEncoder in order, as a network does, without cv::dnn.
class ChainRun {
public:
    ChainRun(const EncoderCase& whole, const std::vector<int>& cuts, const ChangeSettings& change);

    EncoderControl& control() { return *m_control; }

    /// If a segment starts at a block b of `injected`, adds injected[b] to the segment's tokens.
    cv::Mat forward(const cv::Mat& batch, const std::map<int, cv::Mat>& injected = {},
                    const cv::Mat& keyBias = cv::Mat());

private:
    std::vector<EncoderCase> m_segments;
    std::shared_ptr<EncoderControl> m_control;
    std::vector<std::unique_ptr<EncoderRunner>> m_runners;
};

inline std::vector<int> ids(const cv::Mat& map) {
    return {map.ptr<int>(), map.ptr<int>() + map.total()};
}

}  // namespace mpm::test
