// Runs a batch through an encoder on any backend: merges, attention, MLP, outputs at the taps.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "mpm_layer/encoder/control.hpp"
#include "mpm_layer/encoder/network_state.hpp"
#include "mpm_layer/encoder/reuse_streams.hpp"

namespace mpm {

class EncoderRunner {
public:
    explicit EncoderRunner(std::shared_ptr<EncoderControl> control)
        : EncoderRunner(control, control->config()) {}
    /// Creates a runner for a segment of a chain. `place`: the entry of the segment's layer in the network;
    /// null if there is no network.
    EncoderRunner(std::shared_ptr<EncoderControl> control, EncoderConfig segment,
                  std::shared_ptr<NetworkPlace> place = nullptr)
        : m_control(std::move(control)), m_config(std::move(segment)), m_place(std::move(place)) {}

    /// Sets the operator's constants. The next forward packs the weights. Later forwards pack the weights
    /// again only if the device or the precision changes.
    void setWeights(NamedWeights weights);
    bool hasWeights() const { return m_hasWeights; }

    /// Runs tokens [B, E+N+T, D] (sizes: backend.hpp). The caller must allocate an output of the same shape
    /// for each tap. Sets or extends the control's report. Returns the composed map of each image, with
    /// clusters in the order of their rows, so that the next segment continues with the same rows.
    std::vector<cv::Mat> run(const SessionInput& input, std::vector<cv::Mat>& outputs);
    void run(const cv::Mat& tokens, const cv::Mat& keyBias, std::vector<cv::Mat>& outputs);
    /// Runs tokens [images, rows, dim] that are in the memory of the GPU that the settings name. Each tap
    /// needs an output of the same shape.
    void runOnDevice(const float* tokens, int images, int rows, const std::vector<float*>& outputs,
                     void* stream);

    /// Returns the precision of a forward with the current settings; F32 if the encoder does not run on the
    /// CPU.
    Precision precisionOnProcessor() const;

    void forget() { m_streams.forget(); }
    void forget(int stream) { m_streams.forget(stream); }

private:
    struct Choice {
        std::shared_ptr<const Backend> backend;
        Device device = Device::Auto;  ///< as requested
        int index = 0;
    };
    struct Plan {
        std::optional<ReusePlan> reuse;  ///< absent: all rows are computed, without memory
        bool merging = true;
    };

    Settings settings() const;
    /// Returns the current backend if it fits the settings, else a new backend.
    Choice choiceFor(const Settings& settings) const;
    void check(const SessionInput& input, const Settings& settings, size_t outputs) const;
    std::vector<cv::Mat> run(const SessionInput& input, const Settings& settings,
                             std::vector<cv::Mat>& outputs);

    /// The steps of run().
    void prepare(const Settings& settings);
    Plan plan(const EncoderForward& forward, const Settings& settings);
    Plan planLeading(const EncoderForward& forward, const Settings& settings);
    Plan planFollowing(const EncoderForward& forward);
    std::vector<ImageReport> execute(const EncoderForward& forward, const Settings& settings, Plan plan,
                                     std::vector<cv::Mat>& outputs, Times& times) const;
    std::vector<cv::Mat> report(std::vector<ImageReport> images, const Times& times);

    /// Returns whether an earlier encoder decides which rows are computed again: true for a decoder, and for
    /// a later segment of a chain.
    bool follows() const { return !m_config.merges || m_config.continues(); }

    std::shared_ptr<EncoderControl> m_control;
    const EncoderConfig m_config;
    std::shared_ptr<NetworkPlace> m_place;  ///< may be null
    ReuseStreams m_streams;
    NamedWeights m_weights;
    bool m_hasWeights = false;
    Choice m_choice;
    std::shared_ptr<const PackedEncoder> m_packed;
    Precision m_packedPrecision = Precision::F32;
};

}  // namespace mpm
