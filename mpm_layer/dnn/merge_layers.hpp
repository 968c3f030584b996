// MpmMerge and MpmRestore: see docs/reference/operators.md.
#pragma once

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

}  // namespace mpm::dnn
