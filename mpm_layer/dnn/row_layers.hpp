// MpmLayerNorm and MpmLinear work on rows along the last axis, with any number of other axes. MpmLayerNorm
// also works on the channels of images.
#pragma once

#include "base/norm_rule.hpp"
#include "mpm_layer/cpu/linear.hpp"
#include "mpm_layer/dnn/small_layer.hpp"
#include "mpm_layer/encoder/reuse/row_memory.hpp"

namespace mpm::dnn {

class LayerNormLayer : public SmallLayer {
public:
    explicit LayerNormLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    void normalisePixels(const cv::Mat& x, const float* weight, const float* bias, cv::Mat& out) const;

    NormRule m_rule;
    bool m_channelsFirst;  ///< normalises the channels of images, not the last axis
};

class LinearLayer : public SmallLayer {
public:
    explicit LinearLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    int64 operations(const std::vector<Sizes>& operands, const Sizes& output) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    void pack(const std::vector<cv::Mat>& in, Precision precision);

    const kernels::Activation m_activation;
    const bool m_followsEncoder;  ///< runs in the precision NetworkPlace::precisionOfRows()
    cpu::Linear m_weights;
    cv::Mat m_packed, m_bias;  ///< the operands that m_weights was packed from
    RowMemory m_memory;        ///< used if an encoder of the network runs with reuse
};

}  // namespace mpm::dnn
