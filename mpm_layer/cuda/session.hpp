// A forward on the device. Work is queued on the executor's stream. Before finish(), the CPU waits only for
// the size of the batch after a merge. If the CPU decides the merge, it also waits for the rows.
#pragma once

#include <memory>
#include <vector>

#include "mpm_layer/cuda/executor.hpp"
#include "mpm_layer/cuda/interface/entry.h"
#include "mpm_layer/cuda/logic/arithmetic.hpp"
#include "mpm_layer/cuda/transfer.hpp"
#include "mpm_layer/cuda/weights.hpp"

namespace mpm::cuda {

class Session {
public:
    Session(const Weights& weights, const MpmCudaInput& input);
    virtual ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    void attend(int block) { queue({block, true}); }
    void runMlp(int block) { queue({block, false}); }
    void reduce(const MpmCudaStage& stage);
    void emit(bool norm, float* output, bool onDevice);
    MpmCudaTimes finish();

    int stageTokens(int stage, int image) const;
    void stageMap(int stage, int image, int* ids) const;
    void readCounts(int* counts);
    void readRows(float* rows, float* keys, float* sizes);
    int device() const { return m_weights.device; }

protected:
    virtual void attendNow(int block) = 0;
    virtual void runMlpNow(int block) = 0;
    virtual void meanOfKeys(float* mean) = 0;
    BatchView view() const;
    /// Returns, for each row, the value that is added to the attention logits of the row's key. Null:
    /// nothing.
    const float* logits() const { return m_biased || m_proportional ? m_executor->logits.data() : nullptr; }
    cudaStream_t stream() const { return m_executor->stream; }
    Executor& executor() { return *m_executor; }
    const Weights& weights() const { return m_weights; }
    const MpmCudaOptions& options() const { return m_options; }
    int capacity() const { return m_capacity; }  ///< number of rows that fit in every buffer of activations
    int productRows() const { return roundedRows(m_rows); }
    bool fixedKernels() const { return m_fixed; }

private:
    /// The attention or the MLP of a block. Consecutive steps may form a CUDA graph.
    struct Step {
        int block;
        bool attends;
    };
    struct Imposed {
        std::vector<int> ids, starts, members, counts;
    };

    void queue(const Step& step);
    void runSteps(const std::vector<Step>& steps);
    void flush();
    GraphKey keyOf(const std::vector<Step>& steps) const;
    void checkPointer(const void* pointer, const char* what) const;
    void reserve();
    void awaitCaller(cudaStream_t caller);
    void upload(const MpmCudaInput& input);
    void uploadBias(const MpmCudaInput& input);
    void refreshLogits();
    void decidePairs(const ClusterTables& tables);
    void impose(const MpmCudaStage& stage);
    void shorten(const ClusterTables& tables, int mean);
    std::vector<int> offsetsNow();
    void checkStage(int stage, int image) const;

    const Weights& m_weights;
    const MpmCudaOptions m_options;
    const MpmCudaParallel m_parallel;
    const int m_images, m_tokens;  ///< m_tokens: image tokens of an image at the input
    const bool m_biased, m_proportional, m_readsCounts, m_fixed, m_graphs;
    const int m_nearest;
    int m_capacity, m_rows, m_longest;
    std::unique_ptr<Executor> m_executor;
    std::vector<Step> m_steps;
    std::vector<std::unique_ptr<Imposed>> m_imposed;  ///< kept until their upload is done
    std::vector<Download> m_downloads;
    size_t m_stages = 0, m_outputs = 0;
};

/// Creates a session that computes in the element type of the packed weights.
std::unique_ptr<Session> makeSession(const Weights& weights, const MpmCudaInput& input);

/// Runs the operator MpmRestore without an encoder. Returns after the output is complete.
void restore(int device, const MpmCudaRestore& request);

}  // namespace mpm::cuda
