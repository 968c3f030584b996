// What all layers have in common: checked shapes, and one call that computes.
#pragma once

#include <memory>
#include <vector>

#include "mpm_layer/dnn/opencv.hpp"
#include "mpm_layer/encoder/network_state.hpp"

namespace mpm::dnn {

Shape shapeOf(const cv::Mat& m);
std::vector<Shape> shapesOf(const std::vector<cv::Mat>& mats);
std::string textOf(const Shape& shape);

/// Writes count integers as the engine has them (f32 or int64) and reads them back, whatever the type.
void writeIntegers(const int* values, int count, cv::Mat& to, size_t offset);
std::vector<int> readIntegers(const cv::Mat& from, const char* what);

/// A layer that knows shapes in and out, and one call that computes.
class PortableLayer : public VersionedLayer {
public:
    explicit PortableLayer(const cv::dnn::LayerParams& params);

    bool getMemoryShapes(const std::vector<Shape>& in, int required, std::vector<Shape>& out,
                         std::vector<Shape>& internals) const override;
    void finalize(cv::InputArrayOfArrays in, cv::OutputArrayOfArrays out) override;

protected:
    /// All outputs of the operator, as large as they can be. Inputs and constants have passed checkShape: the
    /// product of any sizes of one of them fits an int. Outputs are checked too.
    virtual std::vector<Shape> outputShapes(const std::vector<Shape>& in) const = 0;
    /// Outputs are allocated unless canResize(); fewer than outputShapes() where the rest is not connected.
    /// The shapes are checked as those of outputShapes() are, and each output has its elements.
    virtual void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) = 0;

    const std::shared_ptr<NetworkPlace>& network() const { return m_network; }

private:
    void checkShapes(const std::vector<Shape>& in) const;
    void checkMats(const std::vector<cv::Mat>& in, const std::vector<cv::Mat>& out) const;
    void run(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) final;

    const std::shared_ptr<NetworkPlace> m_network;
};

}  // namespace mpm::dnn
