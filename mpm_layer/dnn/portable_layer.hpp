// cv::dnn::Layer as OpenCV 4.6 to 5.x have it: every difference between the versions and engines is in this
// pair of files.
#pragma once

#include <memory>
#include <vector>

#include <opencv2/dnn.hpp>

#include "mpm_layer/encoder/network_state.hpp"

namespace mpm::dnn {

#if CV_VERSION_MAJOR >= 5
using Shape = cv::MatShape;
constexpr int kInteger = CV_64S;
#else
using Shape = cv::dnn::MatShape;
constexpr int kInteger = CV_32F;  // every blob is f32 there
#endif

Shape shapeOf(const cv::Mat& m);
std::string textOf(const Shape& shape);

/// Writes count integers as the engine has them (f32 or int64) and reads them back, whatever the type.
void writeIntegers(const int* values, int count, cv::Mat& to, size_t offset);
std::vector<int> readIntegers(const cv::Mat& from, const char* what);

/// A layer that knows shapes in and out, and one call that computes.
class PortableLayer : public cv::dnn::Layer {
public:
    explicit PortableLayer(const cv::dnn::LayerParams& params);

    bool getMemoryShapes(const std::vector<Shape>& in, int required, std::vector<Shape>& out,
                         std::vector<Shape>& internals) const override;
#if CV_VERSION_MAJOR >= 5
    void getTypes(const std::vector<cv::dnn::MatType>& in, int required, int requiredInternals,
                  std::vector<cv::dnn::MatType>& out,
                  std::vector<cv::dnn::MatType>& internals) const override;
    bool dynamicOutputShapes() const override {
        return shapesDependOnData();
    }
#endif
    void finalize(cv::InputArrayOfArrays in, cv::OutputArrayOfArrays out) override;
    void forward(cv::InputArrayOfArrays in, cv::OutputArrayOfArrays out,
                 cv::OutputArrayOfArrays internals) override;

protected:
    /// All outputs of the operator, as large as they can be. Inputs and constants have passed checkShape: the
    /// product of any sizes of one of them fits an int. Outputs are checked too.
    virtual std::vector<Shape> outputShapes(const std::vector<Shape>& in) const = 0;
    virtual int outputType(int /*index*/) const {
        return CV_32F;
    }
    /// Output shapes follow the values where the engine allows it.
    virtual bool shapesDependOnData() const {
        return false;
    }
    /// Outputs are allocated unless canResize(); fewer than outputShapes() where the rest is not connected.
    /// The shapes are checked as those of outputShapes() are, and each output has its elements.
    virtual void compute(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) = 0;

    /// True where compute() must give each output its shape itself, by resize().
    bool canResize() const {
        return shapesDependOnData() && hasDynamicEngine();
    }
    static void resize(cv::Mat& output, const std::vector<int>& sizes, int type);

    const std::shared_ptr<NetworkPlace>& network() const {
        return m_network;
    }

private:
    void checkShapes(const std::vector<Shape>& in) const;
    void checkMats(const std::vector<cv::Mat>& in, const std::vector<cv::Mat>& out) const;
    void computeChecked(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out);
    bool hasDynamicEngine() const;

    const std::shared_ptr<NetworkPlace> m_network;
};

}  // namespace mpm::dnn
