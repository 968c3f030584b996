// Runs a batch through the blocks: merges, attention, MLP, outputs at the taps. For any backend.
#pragma once

#include <memory>
#include <vector>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/encoder/control.hpp"
#include "mpm_layer/encoder/reuse_runner.hpp"

namespace mpm {

class EncoderRunner {
public:
    explicit EncoderRunner(std::shared_ptr<EncoderControl> control)
        : EncoderRunner(control, control->config()) {}
    /// Of one segment of a chain.
    EncoderRunner(std::shared_ptr<EncoderControl> control, EncoderConfig segment)
        : m_control(std::move(control)), m_config(std::move(segment)) {}

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

    /// As the settings are now; F32 where the encoder runs elsewhere.
    Precision precisionOnProcessor();

    void forget() { m_reuse.forget(); }
    void forget(int stream) { m_reuse.forget(stream); }

private:
    /// Chooses the backend. Gives the precision that it computes in.
    Precision choose(const Settings& settings);
    void prepare(const Settings& settings);
    void check(const SessionInput& input, size_t outputs) const;
    std::vector<cv::Mat> run(const SessionInput& input, const Settings& settings,
                             std::vector<cv::Mat>& outputs);

    std::vector<ImageReport> runPlain(const SessionInput& input, const Settings& settings, bool merging,
                                      std::vector<cv::Mat>& outputs, Times& times) const;
    /// A decoder, or a segment behind the first one: the rows to compute again are decided before it.
    bool follows() const { return !m_config.merges || m_config.continues(); }
    bool reuses(const Settings& settings);
    void checkMapsWithReuse(const SessionInput& input, const LeadFrame* lead) const;
    std::vector<ImageReport> runWithReuse(const SessionInput& input, const Settings& settings,
                                          const ReuseRunner::Plain& plain, std::vector<cv::Mat>& outputs);

    std::shared_ptr<EncoderControl> m_control;
    const EncoderConfig m_config;
    ReuseRunner m_reuse;
    NamedWeights m_weights;
    bool m_hasWeights = false;
    std::shared_ptr<const Backend> m_backend;
    std::shared_ptr<const PackedEncoder> m_packed;
    Device m_wantedDevice = Device::Auto;
    int m_wantedIndex = 0;
    Precision m_packedPrecision = Precision::F32;
};

}  // namespace mpm
