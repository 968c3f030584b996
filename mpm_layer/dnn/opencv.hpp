// Hides the differences between the versions of OpenCV's dnn module and between their engines. CMake tests
// for features (cmake/MpmOpenCv.cmake) and defines MPM_OPENCV_...; this file never tests the version. Folders
// outside mpm_layer include this file, so this file must not call functions of libmpm.
#pragma once

#include <string>
#include <vector>

#include <opencv2/dnn.hpp>

namespace mpm::dnn {

#ifdef MPM_OPENCV_MAT_SHAPE
using Shape = cv::MatShape;
#else
using Shape = cv::dnn::MatShape;
#endif

#ifdef MPM_OPENCV_INT64
constexpr int kInteger = CV_64S;
#else
constexpr int kInteger = CV_32F;  // OpenCV 4 stores every blob as f32
#endif
constexpr bool kHasInt64 = kInteger != CV_32F;

#ifdef MPM_OPENCV_DYNAMIC
constexpr bool kHasDynamicShapes = true;
#else
constexpr bool kHasDynamicShapes = false;
#endif

/// cv::dnn::Layer with the same virtual functions in every version of OpenCV. A layer must not keep sizes
/// from getMemoryShapes(), getTypes(), finalize() or reshapeLayer(). forward() reads all sizes from the
/// inputs, so the order of these calls does not matter.
class VersionedLayer : public cv::dnn::Layer {
public:
    explicit VersionedLayer(const cv::dnn::LayerParams& params) : cv::dnn::Layer(params) {}

#ifdef MPM_OPENCV_TYPES
    void getTypes(const std::vector<cv::dnn::MatType>&, int required, int requiredInternals,
                  std::vector<cv::dnn::MatType>& out,
                  std::vector<cv::dnn::MatType>& internals) const override {
        out.clear();
        for (int i = 0; i < required; ++i)
            out.push_back(outputType(i));
        internals.assign(requiredInternals, CV_32F);
    }
#endif
#ifdef MPM_OPENCV_DYNAMIC
    bool dynamicOutputShapes() const override {
        return shapesDependOnData();
    }
#endif
#ifdef MPM_OPENCV_RESHAPE
    void reshapeLayer(cv::InputArrayOfArrays, cv::OutputArrayOfArrays) override {}
#endif
    void forward(cv::InputArrayOfArrays in, cv::OutputArrayOfArrays out,
                 cv::OutputArrayOfArrays internals) override {
        std::vector<cv::Mat> from, to;
#ifdef MPM_OPENCV_TYPES
        static_cast<void>(internals);
#else
        if (in.depth() == CV_16S) return forward_fallback(in, out, internals);  // half floats of OpenCL
#endif
        in.getMatVector(from);
#ifdef MPM_OPENCV_FIT
        if (canResize()) return run(from, out.getMatVecRef());
#endif
        out.getMatVector(to);
        run(from, to);
        for (size_t i = 0; i < to.size() && canResize(); ++i)
            out.getMatRef(static_cast<int>(i)) = to[i];
    }

protected:
    virtual int outputType(int /*index*/) const {
        return CV_32F;
    }
    /// Returns whether output shapes depend on the values of inputs. Has no effect without dynamic shapes.
    virtual bool shapesDependOnData() const {
        return false;
    }
    virtual void run(const std::vector<cv::Mat>& in, std::vector<cv::Mat>& out) = 0;

    /// Returns the address of the pointer in which the engine stores the layer's network; null if no engine
    /// stores the network.
    const void* const* networkPointer() {
#ifdef MPM_OPENCV_NETWORK_POINTER
        netimpl = nullptr;  // only the new engine sets this pointer
        return &netimpl;
#else
        return nullptr;
#endif
    }
    /// Returns whether the engine has dynamic shapes. An engine with dynamic shapes passes constants as
    /// inputs, and passes only connected outputs, which may have any size.
    bool hasDynamicEngine() const {
#ifdef MPM_OPENCV_DYNAMIC
        return !this->inputs.empty();  // only an engine with dynamic shapes names a layer's inputs
#else
        return false;
#endif
    }
    /// Returns whether the engine passes a constant at this input; false if unknown.
    bool isConstantInput([[maybe_unused]] size_t index) const {
#ifdef MPM_OPENCV_CONSTANTS
        struct Network : cv::dnn::Net {
            explicit Network(void* pointer) {
                impl = cv::Ptr<Impl>(static_cast<Impl*>(pointer), [](Impl*){});
            }
        };
        return netimpl && index < this->inputs.size() && Network(netimpl).isConstArg(this->inputs[index]);
#else
        return false;
#endif
    }
    /// Returns whether run() must set the shape of each output with resize().
    bool canResize() const {
        return shapesDependOnData() && hasDynamicEngine();
    }
    static void resize(cv::Mat& output, const std::vector<int>& sizes, int type) {
#ifdef MPM_OPENCV_FIT
        output.fit(static_cast<int>(sizes.size()), sizes.data(), type);
#else
        output.create(static_cast<int>(sizes.size()), sizes.data(), type);
#endif
    }
};

/// Disables OpenCV's Winograd convolutions, because they lose two digits of accuracy. The loss of speed is
/// small: in a network with MpmEncoder, MpmConv computes the large convolutions, and OpenCV only small
/// ones.
inline void useExactConvolutions([[maybe_unused]] cv::dnn::Net& net) {
#ifdef MPM_OPENCV_WINOGRAD
    net.enableWinograd(false);
#endif
}

/// Sets an input of another shape, so that the engine with dynamic shapes updates all sizes. If the next
/// input has the same shape as the previous input, the caller must call this function first. Otherwise, if
/// the number of tokens changes, the engine may keep old sizes and give wrong results (OpenCV 5.0).
inline void resetSizes([[maybe_unused]] cv::dnn::Net& net, [[maybe_unused]] const cv::Mat& blob,
                       [[maybe_unused]] const std::string& input) {
#ifdef MPM_OPENCV_DYNAMIC
    const int shape[] = {blob.size[0], blob.size[1], 16, 16};
    net.setInput(cv::Mat(4, shape, CV_32F, cv::Scalar(0)), input);
#endif
}

/// The indices of a layer's inputs and outputs in the engine with dynamic shapes. In other engines, both
/// lists are empty.
struct LayerValues {
    std::vector<int> inputs, outputs;
    bool readsImage = false;  ///< an input of the layer is an input of the network
};

inline LayerValues valuesOf([[maybe_unused]] cv::dnn::Net& net, [[maybe_unused]] int layer) {
    LayerValues values;
#ifdef MPM_OPENCV_DYNAMIC
    const cv::Ptr<cv::dnn::Layer> found = net.getLayer(layer);
    for (const cv::dnn::Arg& input : found->inputs) {
        values.inputs.push_back(input.idx);
        values.readsImage = values.readsImage || net.argKind(input) == cv::dnn::DNN_ARG_INPUT;
    }
    for (const cv::dnn::Arg& output : found->outputs)
        values.outputs.push_back(output.idx);
#endif
    return values;
}

inline cv::dnn::Net readOnnx(const std::string& path) {
#ifdef MPM_OPENCV_ENGINE_AUTO
    // Selects the new engine, which models of the form `layers` need. If this engine lacks an operator,
    // OpenCV uses the classic engine.
    return cv::dnn::readNetFromONNX(path, cv::dnn::ENGINE_AUTO);
#else
    return cv::dnn::readNetFromONNX(path);
#endif
}

}  // namespace mpm::dnn
