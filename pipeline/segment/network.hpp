// A model in memory: the network, the handle of its encoder, and the metadata of the model file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>
#include <mpm/sharing.hpp>

#include "pipeline/segment/features.hpp"

namespace mpm::pipeline {

/// A network with random weights, for the demo and for measuring without a model.
struct RandomModel {
    cv::Size size{512, 512};  ///< multiples of 16
    int dim = 192, depth = 12, heads = 3, classes = 8;
    std::uint64_t seed = 1;
};

constexpr const char* kQueriesAdvice =
    "the model gives masks and classes of queries, no labels; convert it with --output labels";

/// A model in memory. Only a single thread at a time may use the model, as with a cv::dnn::Net.
class Network {
public:
    /// `model`: a path or `default`. `size`: the input size, if the model leaves the size open. Throws
    /// ModelError.
    explicit Network(const std::string& model, cv::Size size = {});

    explicit Network(const RandomModel& model);

    Network(Network&&) = default;
    Network& operator=(Network&&) = default;

    /// Runs the network. `blob`: Bx3xHxW, as blob() returns it. If the model leaves the batch open, B may
    /// differ between calls.
    cv::Mat forward(const cv::Mat& blob);

    /// Returns whether the model gives boxes of objects.
    bool detects() const { return m_info.detections.has_value(); }
    /// Returns the outputs in the order of detectorOutputs(). `images`: sizes of the original images, which
    /// some networks read as an input.
    std::vector<cv::Mat> forwardDetector(const cv::Mat& blob, const std::vector<cv::Size>& images);
    std::vector<std::string> detectorOutputs() const;

    /// Returns the kind of an output. Must be called after a forward.
    OutputKind kindOf(const cv::Mat& output) const;
    OutputFacts outputFacts() const;

    /// Searches the outputs and the encoder's tokens for features, which later forwards then return. Returns
    /// false if there are no features. Call this function only if the kind of the output is unknown.
    bool useFeatures(const cv::Mat& blob);

    /// Returns whether the outputs are masks and classes of queries (MaskFormer, EoMT). Must be called after
    /// a forward. `mpm convert --output labels` converts such a model to a model with labels.
    bool hasQueries() const { return m_queries; }

    cv::Mat blob(const std::vector<cv::Mat>& images) const;

    mpm::Encoder& encoder() { return m_encoder; }
    const mpm::Encoder& encoder() const { return m_encoder; }
    /// Returns null if the model shares no tokens.
    mpm::Sharing* sharing() { return m_sharing ? &*m_sharing : nullptr; }
    bool shares() const { return m_sharing.has_value(); }
    /// Returns the model file's number of superpatches (squares of four patches) that become one token each.
    int sharedOfFile() const { return m_sharedOfFile; }
    const mpm::ModelInfo& info() const { return m_info; }
    /// Returns the settings of reuse from the file's metadata `mpm.reuse`, or the defaults.
    const mpm::Reuse& reuse() const { return m_reuse; }
    const std::string& name() const { return m_name; }  ///< the path, or "random weights"
    bool random() const { return m_random; }
    int batch() const { return m_batch; }  ///< the model's batch size; 0: any
    cv::dnn::Net& net() { return m_net; }
    /// Returns the layer at which forwards end; empty: the last layer.
    const std::string& outputLayer() const { return m_output; }

private:
    void setInputs(const cv::Mat& blob, const std::vector<cv::Size>& images);
    template <class Run>
    auto withAdvice(const cv::Mat& blob, const Run& run);
    cv::Mat run();
    Network(cv::dnn::Net net, mpm::ModelInfo info, mpm::Reuse reuse, std::string name, bool random);

    cv::dnn::Net m_net;
    mpm::Encoder m_encoder;
    std::optional<mpm::Sharing> m_sharing;
    int m_sharedOfFile;
    mpm::ModelInfo m_info;
    mpm::Reuse m_reuse;
    std::string m_name;
    bool m_random;
    int m_batch = 0;
    std::string m_output;    ///< the layer at which forwards end; empty: the last output
    bool m_decided = false;  ///< whether run() has chosen the output
    bool m_queries = false;
    bool m_usesTokens = false;  ///< whether forwards return the encoder's tokens
};

/// Returns a network of patch embedding, position embedding, MpmEncoder and linear head. The logits have a
/// value for each class and patch.
cv::dnn::Net makeRandomNet(const RandomModel& model);

mpm::ModelInfo randomModelInfo(const RandomModel& model);

}  // namespace mpm::pipeline
