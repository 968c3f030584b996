// Runs a batch through the blocks: merges, attention, MLP, outputs at the taps. For any backend.
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
    /// Of one segment of a chain. Without a place it has no other encoders around it.
    EncoderRunner(std::shared_ptr<EncoderControl> control, EncoderConfig segment,
                  std::shared_ptr<NetworkPlace> place = nullptr)
        : m_control(std::move(control)), m_config(std::move(segment)), m_place(std::move(place)) {}

    /// Constants of the operator; packed at the first forward and again when device or precision change.
    void setWeights(NamedWeights weights);
    bool hasWeights() const { return m_hasWeights; }

    /// tokens [B, E+N+T, D]; one output a tap, each of that shape, already allocated. Adds to the control's
    /// report. Returns the composed map of each image, with clusters in the order of their rows, so that the
    /// next segment goes on with the same rows.
    std::vector<cv::Mat> run(const SessionInput& input, std::vector<cv::Mat>& outputs);
    void run(const cv::Mat& tokens, const cv::Mat& keyBias, std::vector<cv::Mat>& outputs);
    /// The same over memory of the device that the settings name: tokens [images, rows, dim], one output of
    /// that shape for each tap.
    void runOnDevice(const float* tokens, int images, int rows, const std::vector<float*>& outputs,
                     void* stream);

    /// As the settings are now; F32 if the encoder runs elsewhere.
    Precision precisionOnProcessor() const;

    void forget() { m_streams.forget(); }
    void forget(int stream) { m_streams.forget(stream); }

private:
    struct Choice {
        std::shared_ptr<const Backend> backend;
        Device device = Device::Auto;  ///< that was wanted
        int index = 0;
    };
    struct Plan {
        std::optional<ReusePlan> reuse;  ///< absent: all rows are computed, without memory
        bool merging = true;
    };

    Settings settings() const;
    /// The present backend, if the settings ask for the same one.
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

    /// A decoder, or a segment behind the first one: the rows to compute again are decided before it.
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
