// Makes the operators known to OpenCV, and finds the encoder of a network.
#include <mutex>

#include <opencv2/dnn/layer.details.hpp>

#include <mpm/mpm.hpp>

#include "mpm_layer/dnn/element_layers.hpp"
#include "mpm_layer/dnn/embed_layer.hpp"
#include "mpm_layer/dnn/encoder_layer.hpp"
#include "mpm_layer/dnn/matmul_layer.hpp"
#include "mpm_layer/dnn/merge_layers.hpp"
#include "mpm_layer/dnn/resize_layer.hpp"
#include "mpm_layer/dnn/row_layers.hpp"

namespace mpm {
namespace {

using Constructor = cv::Ptr<cv::dnn::Layer> (*)(cv::dnn::LayerParams&);

void registerOnce(const std::string& type, Constructor constructor) {
    // OpenCV 4.x and the classic engine look for "mpm.X", the engine of 5.0 for "X".
    for (const std::string& key : {"mpm." + type, type}) {
        if (!cv::dnn::LayerFactory::isLayerRegistered(key))
            cv::dnn::LayerFactory::registerLayer(key, constructor);
    }
}

}  // namespace

void registerLayers() {
    static std::once_flag once;
    std::call_once(once, [] {
        registerOnce("MpmMerge", dnn::MergeLayer::create);
        registerOnce("MpmRestore", dnn::RestoreLayer::create);
        registerOnce("MpmEncoder", dnn::EncoderLayer::create);
        registerOnce("MpmEmbed", dnn::EmbedLayer::create);
        registerOnce("MpmLayerNorm", dnn::LayerNormLayer::create);
        registerOnce("MpmMatMul", dnn::MatMulLayer::create);
        registerOnce("MpmLinear", dnn::LinearLayer::create);
        registerOnce("MpmArithmetic", dnn::ArithmeticLayer::create);
        registerOnce("MpmFunction", dnn::FunctionLayer::create);
        registerOnce("MpmResize", dnn::ResizeLayer::create);
    });
}

Encoder encoder(cv::dnn::Net& net) {
    for (const cv::String& name : net.getLayerNames()) {
        const cv::Ptr<cv::dnn::Layer> layer = net.getLayer(net.getLayerId(name));
        const auto* found = dynamic_cast<const dnn::EncoderLayer*>(layer.get());
        if (found && found->control()->config().merges) return Encoder(found->control());
    }
    CV_Error(
        cv::Error::StsObjectNotFound,
        "mpm: net has no MpmEncoder that merges; convert the model first (mpm convert IN.onnx OUT.onnx)");
}

}  // namespace mpm
