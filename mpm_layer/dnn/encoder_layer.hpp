// MpmEncoder: see docs/reference/operators.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mpm_layer/dnn/portable_layer.hpp"
#include "mpm_layer/encoder/runner.hpp"

namespace mpm::dnn {

/// The operator's inputs: runtime inputs first, then weights.
struct EncoderInputs {
    std::vector<std::string> names;
    size_t map = 0, keyBias = 0;  ///< index among the inputs; 0 if absent
    size_t firstWeight = 1;
};

class EncoderLayer : public PortableLayer {
public:
    explicit EncoderLayer(const cv::dnn::LayerParams& params);

    const std::shared_ptr<EncoderControl>& control() const { return m_control; }
    int64 getFLOPS(const std::vector<Shape>& in, const std::vector<Shape>& out) const override;

protected:
    std::vector<Shape> outputShapes(const std::vector<Shape>& in) const override;
    int outputType(int index) const override;
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    int imageTokens(int rows) const;
    std::vector<MergeMap> readMaps(const cv::Mat& given, const cv::Mat& tokens) const;

    EncoderInputs m_inputs;
    EncoderConfig m_config;
    std::shared_ptr<EncoderControl> m_control;  ///< shared by all segments of the chain
    std::shared_ptr<EncoderRunner> m_runner;
};

}  // namespace mpm::dnn
