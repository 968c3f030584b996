// MpmEncoder: see docs/reference/operators.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mpm_layer/dnn/portable_layer.hpp"
#include "mpm_layer/encoder/runner.hpp"

namespace mpm::dnn {

class EncoderLayer : public PortableLayer {
public:
    explicit EncoderLayer(const cv::dnn::LayerParams& params);
    static cv::Ptr<cv::dnn::Layer> create(cv::dnn::LayerParams& params);

    const std::shared_ptr<EncoderControl>& control() const { return m_control; }
    int64 getFLOPS(const std::vector<Shape>& in, const std::vector<Shape>& out) const override;

protected:
    std::vector<Shape> outputShapes(const std::vector<Shape>& in) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    std::vector<std::string> m_names;
    std::shared_ptr<EncoderControl> m_control;
    std::shared_ptr<EncoderRunner> m_runner;
};

}  // namespace mpm::dnn
