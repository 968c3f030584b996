// The base class of all layers: checks shapes, and has a single function that computes.
#pragma once

#include <memory>
#include <vector>

#include "mpm_layer/dnn/opencv.hpp"
#include "mpm_layer/encoder/network_state.hpp"

namespace mpm::dnn {

Shape shapeOf(const cv::Mat& m);
std::vector<Shape> shapesOf(const std::vector<cv::Mat>& mats);
std::string textOf(const Shape& shape);

/// writeIntegers() writes f32 or int64, the type of `to`. readIntegers() reads f32, int64 or int32; a value
/// that is negative, too large or not whole becomes -1.
void writeIntegers(const int* values, int count, cv::Mat& to, size_t offset);
std::vector<int> readIntegers(const cv::Mat& from, const char* what);

class PortableLayer : public VersionedLayer {
public:
    explicit PortableLayer(const cv::dnn::LayerParams& params);

    bool getMemoryShapes(const std::vector<Shape>& in, int required, std::vector<Shape>& out,
                         std::vector<Shape>& internals) const override;
    void finalize(cv::InputArrayOfArrays in, cv::OutputArrayOfArrays out) override;

protected:
    /// Returns the largest possible shapes of all outputs. Inputs and constants have passed checkShape(), so
    /// any product of the sizes of a shape fits in an int. The caller checks the outputs too.
    virtual std::vector<Shape> outputShapes(const std::vector<Shape>& in) const = 0;
    /// Computes the outputs. If canResize() is true, this function must resize each output. If not, each
    /// output already has the right number of elements. Unconnected outputs at the end are absent. The caller
    /// has checked the inputs as for outputShapes().
    virtual void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) = 0;

    const std::shared_ptr<NetworkPlace>& network() const { return m_network; }

private:
    void checkShapes(const std::vector<Shape>& in) const;
    void checkMats(const std::vector<cv::Mat>& in, const std::vector<cv::Mat>& out) const;
    void run(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) final;

    const std::shared_ptr<NetworkPlace> m_network;
};

}  // namespace mpm::dnn
