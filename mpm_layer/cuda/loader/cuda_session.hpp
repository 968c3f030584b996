// A forward on a GPU: queues work, and reads the outputs back in finish().
#pragma once

#include <memory>

#include "mpm_layer/cuda/loader/cuda_encoder.hpp"

namespace mpm::cuda {

/// Runs a loop of libmpm_cuda on OpenCV's threads; see MpmCudaParallel.
void onThreads(int32_t count, void (*body)(void*, int32_t), void* argument);
/// Returns the constant MPM_CUDA_NEAREST_... that the environment variable MPM_CUDA_NEAREST selects.
int32_t chosenNearest();

/// See Backend::merge() and Backend::restore().
void merge(const MpmCudaEntry& entry, int device, const cv::Mat& tokens, int special,
           const PlaceMerged& place);
void restore(const MpmCudaEntry& entry, int device, const cv::Mat& merged, const std::vector<MergeMap>& maps,
             int special, cv::Mat& out);

class CudaSession : public Session {
public:
    CudaSession(const EncoderConfig& config, std::shared_ptr<const CudaEncoder> weights,
                const SessionInput& input);
    ~CudaSession() override;
    CudaSession(const CudaSession&) = delete;
    CudaSession& operator=(const CudaSession&) = delete;

    /// Merges tokens before the first block, by maps that are an input of the encoder.
    void enter(const std::vector<MergeMap>& maps);
    void reduce(const StageRequest& request) override;
    void attend(int block) override;
    void runMlp(int block) override;
    void emit(bool norm, cv::Mat& output) override;
    void finish() override;
    std::vector<ImageReport> takeReport() override;
    double mergeMs() const override { return m_times.merge_ms; }
    double restoreMs() const override { return m_times.restore_ms; }

private:
    const MpmCudaEntry& entry() const { return m_weights->entry(); }
    std::vector<int> presentTokens();
    std::vector<MergeMap> decideOnCpu(const StageRequest& request);
    /// Returns whether the reducer compares the keys of the most recent attention. If the reducer compares
    /// other keys, the CPU computes these keys.
    bool readsKeys(const StageRequest& request) const;
    void apply(const std::vector<MergeMap>& maps, const MpmCudaStage& stage);

    const EncoderConfig& m_config;
    std::shared_ptr<const CudaEncoder> m_weights;
    int m_images, m_inputTokens;
    const bool m_onDevice;
    std::vector<int> m_blockOfStage;
    std::vector<MergeMap> m_composed;  ///< composed maps so far; empty after the GPU has decided a merge
    MpmCudaSession* m_handle = nullptr;
    MpmCudaTimes m_times{};
};

}  // namespace mpm::cuda
