// MpmArithmetic and MpmFunction work element by element, with NumPy's broadcasting. MpmTranspose reorders
// axes. MpmResize resizes images.
#pragma once

#include <functional>
#include <string>

#include "mpm_layer/dnn/small_layer.hpp"
#include "mpm_layer/kernels/product/product.hpp"

namespace mpm::dnn {

class ArithmeticLayer : public SmallLayer {
public:
    explicit ArithmeticLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    std::string m_operation;
    bool m_reversed;  ///< the second operand is the left operand
};

class FunctionLayer : public SmallLayer {
public:
    explicit FunctionLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    float (*m_function)(float) = nullptr;  ///< if null, m_activation is used
    kernels::Activation m_activation = kernels::Activation::None;
};

class TransposeLayer : public SmallLayer {
public:
    explicit TransposeLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    const std::vector<int> m_order;
};

class ResizeLayer : public SmallLayer {
public:
    explicit ResizeLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Sizes> outputSizes(const std::vector<Sizes>& operands) const override;
    int outputType(int index) const override { return m_argmax && index == 0 ? kInteger : CV_32F; }
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    int m_rows, m_columns;          ///< size of the resized image
    int m_cropRows, m_cropColumns;  ///< size of the output: the upper left part of the resized image
    bool m_alignCorners;
    bool m_argmax;
};

}  // namespace mpm::dnn
