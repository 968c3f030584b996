// MpmEmbed: patches, or an image, to the tokens that enter an encoder.
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
    /// Where an encoder reuses `out`: patches of the same bits are not multiplied again.
    void projectAgain(const cv::Mat& input, const cv::Mat& table, cv::Mat& out);
    /// The weights of the next products. False if they are those of the forward before.
    bool pack(const cv::Mat& weight, bool constant);
    void lay(const cv::Mat& patches, cv::Mat& out) const;

    bool fits(int tokens, int rows) const;

    int m_first;                 ///< row of the first patch
    int m_patches;               ///< how many there must be; negative where the model leaves it open
    cv::Size m_patch;            ///< of an image; empty if the input is patches
    cpu::Linear m_weights;       ///< in the precision of the backbone behind the layer
    int m_depth = 0;             ///< of the weights
    cv::Mat m_packed;            ///< what the weights were packed from
    cv::Mat m_images, m_tokens;  ///< of the forward before, for projectAgain(); empty if there are none
};

}  // namespace mpm::dnn
