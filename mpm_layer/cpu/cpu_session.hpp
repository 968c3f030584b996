// A forward on the processor.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "mpm_layer/cpu/attention.hpp"
#include "mpm_layer/cpu/batch.hpp"
#include "mpm_layer/cpu/packed_encoder.hpp"

namespace mpm::cpu {

class CpuSession : public Session {
public:
    CpuSession(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights,
               const SessionInput& input);

    void reduce(const StageRequest& request) override;
    void attend(int block) override;
    void runMlp(int block) override;
    void emit(bool norm, cv::Mat& output) override;
    void finish() override {}
    std::vector<ImageReport> takeReport() override { return m_batch.takeReport(); }
    double mergeMs() const override { return m_mergeMs; }
    double restoreMs() const override { return m_restoreMs; }

protected:
    CpuSession(const EncoderConfig& config, std::shared_ptr<const PackedEncoder> weights, Batch batch);

    const EncoderConfig& config() const { return m_config; }
    const CpuEncoder& weights() const { return *m_weights; }
    const Batch& batch() const { return m_batch; }
    /// Returns the queries, keys and values of the current block.
    const HeadRows& heads() const { return *m_heads; }
    /// Begins a block whose rows attend within `spans`. Must be called before projectIn().
    void beginHeads(std::vector<Span> spans);
    bool isGlobal(int block) const { return m_config.isGlobal(m_config.firstBlock + block); }
    /// Each of these functions computes a part of a block for `count` rows from row `first` on. projectIn()
    /// computes queries, keys and values, projectOut() adds the output of attention to the rows, and feed()
    /// adds the output of the MLP.
    void projectIn(int block, int first, int count);
    void projectOut(int block, int first, int count);
    void feed(int block, int first, int count);
    /// Calls visit(window, number, row) for each row of padding in the windows of an image. `number` is the
    /// index of the row among the window's padding. `row` has queries, keys and values.
    void eachPadding(int block, const std::function<void(int, int, const float*)>& visit) const;
    /// Returns the memory for attention's output, with the heads of a row side by side. Sets `stride`.
    float* attendedRows(size_t& stride);
    /// Returns the rows of the batch, after the final norm if `norm` is true.
    const float* normedRows(bool norm);

private:
    struct Workspace;

    void finishHeads(int block, int first, int count, float* qkv, size_t stride);
    void normHeads(const Block& block, float* qkv) const;
    void rotate(const RotaryTables& tables, int angle, float* heads) const;
    void padHeads(int block);
    void attendAll();
    void feedAll(int block);
    std::vector<MergeMap> decide(const StageRequest& request);
    /// Returns the rows that the reducer compares. `keys` is memory for these rows.
    RowsView metricOf(const StageRequest& request, int window, std::vector<float>& keys) const;

    const EncoderConfig& m_config;
    std::shared_ptr<const CpuEncoder> m_weights;
    Batch m_batch;
    bool m_proportional = false;
    std::vector<bool> m_keepsKeys;  ///< for each block: whether a stage compares the block's keys
    Workspace& m_workspace;
    std::vector<bool> m_rotatesByWindow;  ///< for each block: the result of rotatesByWindow()
    std::vector<Span> m_spans;            ///< of the current block, like m_heads
    std::optional<HeadRows> m_heads;
    /// The mean over heads of each row's key in the current block; set only if a stage compares the keys.
    std::vector<float> m_lastKeys;
    bool m_keepsRotated = false;  ///< whether m_lastKeys include rotary positions
    double m_mergeMs = 0, m_restoreMs = 0;
};

}  // namespace mpm::cpu
