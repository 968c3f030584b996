// MpmEmbed turns patches, or an image, into the tokens that enter an encoder.
#pragma once

#include <vector>

#include "mpm_layer/cpu/linear.hpp"
#include "mpm_layer/dnn/small_layer.hpp"

namespace mpm::dnn {

class PatchGrid;

class EmbedLayer : public SmallLayer {
public:
    explicit EmbedLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    int64 operations(const std::vector<Sizes>& operands, const Sizes& output) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    bool projects() const { return !m_patch.empty(); }
    Sizes projectedSizes(const std::vector<Sizes>& operands) const;
    template <class Visit>
    void eachRowOfPatches(const PatchGrid& grid, int images, const Visit& visit) const;
    void project(const PatchGrid& grid, int image, const std::vector<int>& tokens, const cv::Mat& table,
                 cv::Mat& out) const;
    /// Projects patches for an encoder with reuse that reads `out`. Multiplies only patches whose bits
    /// changed.
    void projectAgain(const cv::Mat& input, const cv::Mat& table, cv::Mat& out);
    /// Packs `weight` for the products of this forward. Returns false if the weights are constant and already
    /// packed in this precision.
    bool pack(const cv::Mat& weight, bool constant);
    void lay(const cv::Mat& patches, cv::Mat& out) const;

    bool fits(int tokens, int rows) const;

    int m_first;                 ///< row of the first patch
    int m_zeros;                 ///< number of rows of zeros before the table
    int m_patches;               ///< required number of patches; negative: any
    cv::Size m_patch;            ///< in pixels; empty if the input is patches
    cpu::Linear m_weights;       ///< in the precision NetworkPlace::precisionOfRows()
    int m_depth = 0;             ///< rows of the weights
    cv::Mat m_packed;            ///< the matrix that m_weights was packed from
    cv::Mat m_images, m_tokens;  ///< of the previous forward, for projectAgain(); empty if unknown
};

}  // namespace mpm::dnn
