// MpmMerge and MpmRestore: see docs/reference/operators.md.
#pragma once

#include <string>

#include "mpm_layer/dnn/portable_layer.hpp"
#include "mpm_layer/merge/merge_map.hpp"

namespace mpm::dnn {

class MergeLayer : public PortableLayer {
public:
    explicit MergeLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Shape> outputShapes(const std::vector<Shape>& in) const override;
    int outputType(int index) const override { return index == 0 ? CV_32F : kInteger; }
    bool shapesDependOnData() const override { return true; }
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    std::vector<float*> place(const cv::Mat& tokens, const std::vector<MergeMap>& maps,
                              std::vector<cv::Mat>& out) const;

    int m_special;
};

class RestoreLayer : public PortableLayer {
public:
    explicit RestoreLayer(const cv::dnn::LayerParams& params);

protected:
    std::vector<Shape> outputShapes(const std::vector<Shape>& in) const override;
    bool shapesDependOnData() const override { return true; }
    void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) override;

private:
    int m_special;
};

/// Replaces a layer that could not be created. Throws `reason` when the network is used.
class RefusedLayer : public PortableLayer {
public:
    RefusedLayer(const cv::dnn::LayerParams& params, const cv::Exception& reason)
        : PortableLayer(params), m_reason(reason) {}
    [[noreturn]] void refuse() const { throw m_reason; }

private:
    std::vector<Shape> outputShapes(const std::vector<Shape>&) const override { refuse(); }
    void compute(const std::vector<cv::Mat>&, std::vector<cv::Mat>&) override { refuse(); }

    cv::Exception m_reason;
};

}  // namespace mpm::dnn
