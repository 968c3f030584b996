// MpmEmbed: patches, or an image, to the tokens that enter an encoder.
#pragma once

#include "mpm_layer/dnn/small_layer.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"
#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::dnn {

class EmbedLayer : public SmallLayer {
public:
    explicit EmbedLayer(const cv::dnn::LayerParams& params);
    static cv::Ptr<cv::dnn::Layer> create(cv::dnn::LayerParams& params);

protected:
    std::vector<Shape> outputShapes(const std::vector<Shape>& in) const override;
    int64 getFLOPS(const std::vector<Shape>& in, const std::vector<Shape>& out) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    bool projects() const { return !m_patch.empty(); }
    std::vector<Shape> projectedShapes(const std::vector<Shape>& in) const;
    /// Both add to the table, which `out` holds already.
    void project(const cv::Mat& input, cv::Mat& out) const;
    /// The same where an encoder reuses `out`: patches of the same bits are not multiplied again.
    void projectAgain(const cv::Mat& input, const cv::Mat& table, cv::Mat& out);
    /// The weights of the next products. False if they are those of the forward before.
    bool pack(const cv::Mat& weight, bool constant);
    void lay(const cv::Mat& patches, cv::Mat& out) const;

    bool fits(int tokens, int rows) const;

    int m_first;       ///< row of the first patch
    int m_patches;     ///< how many there must be; negative where the model leaves it open
    cv::Size m_patch;  ///< of an image; empty if the input is patches
    kernels::PackedWeights m_weights;
    kernels::Buffer m_patchRows;  ///< of the forward before, for projectAgain()
    cv::Mat m_tokens;             ///< their tokens; empty where there are none
    std::vector<int> m_inputSizes;
};

}  // namespace mpm::dnn
