// Small operators of mask decoders, of detectors and of token sharing.
#pragma once

#include <optional>

#include "mpm_layer/cpu/convolution.hpp"
#include "mpm_layer/cpu/enlarged_convolution.hpp"
#include "mpm_layer/cpu/linear.hpp"
#include "mpm_layer/decoder/deformable.hpp"
#include "mpm_layer/decoder/mask_labels.hpp"
#include "mpm_layer/decoder/share.hpp"
#include "mpm_layer/dnn/small_layer.hpp"
#include "mpm_layer/kernels/common/buffer.hpp"

namespace mpm::dnn {

class MaskedSoftmaxLayer : public SmallLayer {
public:
    explicit MaskedSoftmaxLayer(const cv::dnn::LayerParams& params) : SmallLayer(params, 1, 2) {}

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;
};

class GridSampleLayer : public SmallLayer {
public:
    explicit GridSampleLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    int64 operations(const std::vector<Sizes>& operands, const Sizes& output) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    decoder::GridSampling m_sampling;
};

class ConvLayer : public SmallLayer {
public:
    explicit ConvLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    int64 operations(const std::vector<Sizes>& operands, const Sizes& output) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    enum class Residual { None, First, Last };  ///< First: added before the activation; Last: after

    size_t weightIndex() const { return m_residual == Residual::None ? 1 : 2; }
    cpu::ConvShape shapeFrom(const std::vector<Sizes>& operands) const;
    cpu::Enlarging enlargingOf(const Sizes& x) const;
    /// Packs `weight`, unless it is a constant that is already packed for this shape and precision.
    void pack(const cv::Mat& weight, bool constant, const cpu::ConvShape& shape, const Sizes& x);

    const std::vector<int> m_size;  ///< rows and columns of the enlarged input; zeros: not enlarged
    const bool m_alignCorners;
    const std::vector<int> m_stride, m_padding, m_dilation;
    const int m_groups;
    const kernels::Activation m_activation;
    Residual m_residual;
    bool m_rectified;       ///< negative values of the input are read as zero
    bool m_followsEncoder;  ///< runs in the precision NetworkPlace::precisionOfHead()
    // Only one of these two members has the weights: m_enlarged if the input is enlarged.
    std::optional<cpu::ConvWeights> m_weights;
    std::optional<cpu::EnlargedConvolution> m_enlarged;
    Precision m_precision = Precision::F32;  ///< the requested precision of the weights
    cv::Mat m_packed;                        ///< the matrix that the weights were packed from
};

/// A transposed convolution. Each input pixel has a window of output pixels, of size m_window, which is also
/// the stride. If the kernel is as large as the window, a product and a shuffle compute the output.
/// Otherwise, there is a separate convolution for each pixel of the window.
class ConvTransposeLayer : public SmallLayer {
public:
    explicit ConvTransposeLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    int64 operations(const std::vector<Sizes>& operands, const Sizes& output) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    bool overlaps() const { return m_kernel != m_window; }
    cpu::ConvShape phaseShape(const Sizes& x, int outs, int row, int column) const;
    void pack(const cv::Mat& weight, bool constant, const Sizes& x);
    void packRows(const cv::Mat& weight, Precision precision);
    void packPhases(const cv::Mat& weight, Precision precision, const Sizes& x);
    void computeRows(const cv::Mat& x, const cv::Mat& bias, cv::Mat& out) const;
    void computePhases(const cv::Mat& x, int outs, const cv::Mat& bias, float* out) const;

    const cv::Size m_window, m_kernel;
    const std::vector<int> m_padding;  ///< rows and columns that the output omits at the top and left
    const kernels::Activation m_activation;
    const bool m_followsEncoder;
    std::optional<cpu::LeftRows> m_rows;     ///< rows of the weight, in the precision of the backbone or f32
    kernels::Buffer m_memory;                ///< memory of m_rows
    std::vector<cpu::ConvWeights> m_phases;  ///< weights for each pixel of m_window
    Precision m_precision = Precision::F32;  ///< the requested precision of the weights
    int m_depth = 0;
    cv::Mat m_packed;  ///< the matrix that the weights were packed from
};

class ShareLayer : public SmallLayer {
public:
    explicit ShareLayer(const cv::dnn::LayerParams& params);
    const std::shared_ptr<SharingControl>& control() const { return m_control; }

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    int outputType(int index) const override { return index == 0 ? CV_32F : kInteger; }
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    int m_special, m_rows, m_columns;
    std::shared_ptr<SharingControl> m_control;
};

class TopKLayer : public SmallLayer {
public:
    explicit TopKLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    int outputType(int index) const override { return index == 0 ? CV_32F : kInteger; }
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    const int m_count;
    const bool m_flatten;
};

class GatherRowsLayer : public SmallLayer {
public:
    explicit GatherRowsLayer(const cv::dnn::LayerParams& params) : SmallLayer(params, 2, 2) {}

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    /// Returns the index of the data among the operands: 1 if the data are constant, because constants come
    /// last.
    static size_t dataAt(const Sizes& first) { return first.size() == 3 ? 0 : 1; }
};

class DeformableLayer : public SmallLayer {
public:
    explicit DeformableLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    int64 operations(const std::vector<Sizes>& operands, const Sizes& output) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    /// `operands`: value, offsets, logits, reference.
    decoder::DeformableShape checkedShape(const std::vector<Sizes>& operands) const;

    int m_heads, m_points;
    std::vector<cv::Size> m_levels;
    int m_positions = 0;  ///< of all levels
};

class MaskLabelsLayer : public SmallLayer {
public:
    explicit MaskLabelsLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    int64 operations(const std::vector<Sizes>& operands, const Sizes& output) const override;
    int outputType(int index) const override { return index == 0 ? kInteger : CV_32F; }
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    decoder::MaskLabelsShape checkedShape(const Sizes& masks, const Sizes& logits) const;

    cv::Size m_size;  ///< of the labels
    bool m_sigmoidFirst;
};

class MatMulLayer : public SmallLayer {
public:
    explicit MatMulLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    int64 operations(const std::vector<Sizes>& operands, const Sizes& output) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    bool m_reversed;  ///< the second operand is the left matrix
};

}  // namespace mpm::dnn
