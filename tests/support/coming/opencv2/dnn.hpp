// Imitates the dnn module after OpenCV 5.0: no classic engine, blobs with types, outputs whose shapes depend
// on data, constants among the inputs, and reshapeLayer(). Tests compile the layers with this header and call
// them in any order, without networks. Everything else comes from the installed OpenCV.
#pragma once

#include <map>
#include <string>
#include <vector>

#define Layer InstalledLayer
#define LayerFactory InstalledLayerFactory
#define Net InstalledNet
#include_next <opencv2/dnn.hpp>
#undef Layer
#undef LayerFactory
#undef Net

namespace cv {

struct MatShape : std::vector<int> {
    using std::vector<int>::vector;
};

namespace dnn {
inline namespace coming {

using MatType = int;

struct Arg {
    int idx = 0;
};
enum ArgKind { DNN_ARG_INPUT = 2 };

class Layer : public Algorithm {
public:
    Layer() = default;
    explicit Layer(const LayerParams& params) : blobs(params.blobs), name(params.name), type(params.type) {}

    virtual void finalize(InputArrayOfArrays, OutputArrayOfArrays) {}
    virtual void forward(InputArrayOfArrays in, OutputArrayOfArrays out, OutputArrayOfArrays internals) = 0;
    /// Called if the sizes of the layer's inputs have changed.
    virtual void reshapeLayer(InputArrayOfArrays, OutputArrayOfArrays) {
        CV_Error(Error::StsNotImplemented, "reshapeLayer");
    }
    virtual bool getMemoryShapes(const std::vector<cv::MatShape>& in, int required,
                                 std::vector<cv::MatShape>& out,
                                 std::vector<cv::MatShape>& internals) const = 0;
    virtual void getTypes(const std::vector<MatType>& in, int required, int requiredInternals,
                          std::vector<MatType>& out, std::vector<MatType>& internals) const = 0;
    virtual int64 getFLOPS(const std::vector<cv::MatShape>&, const std::vector<cv::MatShape>&) const {
        return 0;
    }
    virtual bool dynamicOutputShapes() const { return false; }

    std::vector<Mat> blobs;
    std::vector<Arg> inputs, outputs;
    String name, type;
};

class LayerFactory {
public:
    using Constructor = Ptr<Layer> (*)(LayerParams&);

    static void registerLayer(const String& type, Constructor create) { known()[type] = create; }
    static bool isLayerRegistered(const std::string& type) { return known().count(type) != 0; }
    static Ptr<Layer> createLayerInstance(const String& type, LayerParams& params) {
        return known().at(type)(params);
    }

private:
    static std::map<std::string, Constructor>& known() {
        static std::map<std::string, Constructor> all;
        return all;
    }
};

/// Only declared because the public header of mpm uses the class.
class Net {
public:
    std::vector<String> getLayerNames() const { return {}; }
    int getLayerId(const String&) const { return -1; }
    Ptr<Layer> getLayer(int) const { return {}; }
    ArgKind argKind(Arg) const { return DNN_ARG_INPUT; }
    void setInput(InputArray, const String&) {}
    void enableWinograd(bool) {}
};

inline Net readNetFromONNX(const String&, int) {
    return {};
}
constexpr int ENGINE_AUTO = 3;

}  // namespace coming
}  // namespace dnn
}  // namespace cv
