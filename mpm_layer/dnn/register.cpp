// Makes the operators known to OpenCV, and finds the encoder of a network.
#include <mutex>

#include <opencv2/dnn/layer.details.hpp>

#include <mpm/mpm.hpp>

#include "mpm_layer/dnn/decoder_layers.hpp"
#include "mpm_layer/dnn/deformable_layer.hpp"
#include "mpm_layer/dnn/element_layers.hpp"
#include "mpm_layer/dnn/embed_layer.hpp"
#include "mpm_layer/dnn/encoder_layer.hpp"
#include "mpm_layer/dnn/mask_labels_layer.hpp"
#include "mpm_layer/dnn/matmul_layer.hpp"
#include "mpm_layer/dnn/merge_layers.hpp"
#include "mpm_layer/dnn/refused_layer.hpp"
#include "mpm_layer/dnn/resize_layer.hpp"
#include "mpm_layer/dnn/row_layers.hpp"

namespace mpm {
namespace {

/// The engine of 5.0 looks for "X" and hides exceptions of a constructor: there the error waits in the
/// network.
template <cv::Ptr<cv::dnn::Layer> (*Create)(cv::dnn::LayerParams&)>
cv::Ptr<cv::dnn::Layer> createOrRefuse(cv::dnn::LayerParams& params) {
    try {
        return Create(params);
    } catch (const cv::Exception& reason) {
        return cv::makePtr<dnn::RefusedLayer>(params, reason);
    }
}

template <cv::Ptr<cv::dnn::Layer> (*Create)(cv::dnn::LayerParams&)>
void registerOnce(const std::string& type) {
    const auto add = [](const std::string& key, auto constructor) {
        if (!cv::dnn::LayerFactory::isLayerRegistered(key))
            cv::dnn::LayerFactory::registerLayer(key, constructor);
    };
    add("mpm." + type, Create);  // OpenCV 4.x and the classic engine
    add(type, createOrRefuse<Create>);
}

}  // namespace

void registerLayers() {
    static std::once_flag once;
    std::call_once(once, [] {
        registerOnce<dnn::MergeLayer::create>("MpmMerge");
        registerOnce<dnn::RestoreLayer::create>("MpmRestore");
        registerOnce<dnn::EncoderLayer::create>("MpmEncoder");
        registerOnce<dnn::EmbedLayer::create>("MpmEmbed");
        registerOnce<dnn::DeformableLayer::create>("MpmDeformable");
        registerOnce<dnn::GridSampleLayer::create>("MpmGridSample");
        registerOnce<dnn::LayerNormLayer::create>("MpmLayerNorm");
        registerOnce<dnn::MaskLabelsLayer::create>("MpmMaskLabels");
        registerOnce<dnn::MaskedSoftmaxLayer::create>("MpmMaskedSoftmax");
        registerOnce<dnn::ShareLayer::create>("MpmShare");
        registerOnce<dnn::MatMulLayer::create>("MpmMatMul");
        registerOnce<dnn::LinearLayer::create>("MpmLinear");
        registerOnce<dnn::ArithmeticLayer::create>("MpmArithmetic");
        registerOnce<dnn::FunctionLayer::create>("MpmFunction");
        registerOnce<dnn::ResizeLayer::create>("MpmResize");
    });
}

Encoder encoder(cv::dnn::Net& net) {
    for (const cv::String& name : net.getLayerNames()) {
        const cv::Ptr<cv::dnn::Layer> layer = net.getLayer(net.getLayerId(name));
        if (const auto* refused = dynamic_cast<const dnn::RefusedLayer*>(layer.get())) refused->refuse();
        const auto* found = dynamic_cast<const dnn::EncoderLayer*>(layer.get());
        if (found && found->control()->config().merges) return Encoder(found->control());
    }
    CV_Error(
        cv::Error::StsObjectNotFound,
        "mpm: net has no MpmEncoder that merges; convert the model first (mpm convert IN.onnx OUT.onnx)");
}

}  // namespace mpm
