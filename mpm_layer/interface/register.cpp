// Registers the operators with OpenCV, and finds the encoder and the token sharing of a network.
#include <mutex>
#include <type_traits>

#include <opencv2/dnn/layer.details.hpp>

#include <mpm/layers.hpp>
#include <mpm/mpm.hpp>
#include <mpm/sharing.hpp>

#include "mpm_layer/dnn/decoder_layers.hpp"
#include "mpm_layer/dnn/element_layers.hpp"
#include "mpm_layer/dnn/embed_layer.hpp"
#include "mpm_layer/dnn/encoder_layer.hpp"
#include "mpm_layer/dnn/merge_layers.hpp"
#include "mpm_layer/dnn/row_layers.hpp"
#include "mpm_layer/interface/guard.hpp"
#include "mpm_layer/interface/operators.hpp"

namespace mpm {
namespace {

template <class AnyLayer>
cv::Ptr<cv::dnn::Layer> create(cv::dnn::LayerParams& params) {
    const auto layer = cv::makePtr<AnyLayer>(params);
    if constexpr (std::is_same_v<AnyLayer, dnn::EncoderLayer>) layer->control()->setListener(keepReport);
    return layer;
}

/// Creates a layer for the new engine of OpenCV 5.0, which hides exceptions of constructors. After an
/// exception, returns a layer that throws the exception again when the network is used.
template <class AnyLayer>
cv::Ptr<cv::dnn::Layer> createOrRefuse(cv::dnn::LayerParams& params) {
    try {
        return create<AnyLayer>(params);
    } catch (const cv::Exception& reason) {
        return cv::makePtr<dnn::RefusedLayer>(params, reason);
    }
}

template <class AnyLayer>
dnn::Operator entry(const char* type) {
    return {type, create<AnyLayer>, createOrRefuse<AnyLayer>};
}

}  // namespace

const std::vector<dnn::Operator>& dnn::operators() {
    static const std::vector<Operator> all = {
        entry<MergeLayer>("MpmMerge"),
        entry<RestoreLayer>("MpmRestore"),
        entry<EncoderLayer>("MpmEncoder"),
        entry<EmbedLayer>("MpmEmbed"),
        entry<ConvLayer>("MpmConv"),
        entry<ConvTransposeLayer>("MpmConvTranspose"),
        entry<DeformableLayer>("MpmDeformable"),
        entry<LayerNormLayer>("MpmLayerNorm"),
        entry<MaskLabelsLayer>("MpmMaskLabels"),
        entry<MatMulLayer>("MpmMatMul"),
        entry<LinearLayer>("MpmLinear"),
        entry<ArithmeticLayer>("MpmArithmetic"),
        entry<FunctionLayer>("MpmFunction"),
        entry<TransposeLayer>("MpmTranspose"),
        entry<ResizeLayer>("MpmResize"),
        entry<GridSampleLayer>("MpmGridSample"),
        entry<MaskedSoftmaxLayer>("MpmMaskedSoftmax"),
        entry<ShareLayer>("MpmShare"),
        entry<TopKLayer>("MpmTopK"),
        entry<GatherRowsLayer>("MpmGatherRows"),
    };
    return all;
}

void registerLayers() {
    static std::once_flag once;
    const auto add = [](const std::string& key, dnn::CreateLayer* create) {
        if (!cv::dnn::LayerFactory::isLayerRegistered(key)) cv::dnn::LayerFactory::registerLayer(key, create);
    };
    std::call_once(once, [&] {
        for (const dnn::Operator& known : dnn::operators()) {
            add(std::string("mpm.") + known.type, known.create);  // OpenCV 4.x and the classic engine
            add(known.type, known.createOrRefuse);                // the new engine of OpenCV 5
        }
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

EncoderLayers encoderLayers(cv::dnn::Net& net) {
    encoder(net);  // throws if there is no encoder, or if it could not be created
    EncoderLayers ids;
    std::shared_ptr<EncoderControl> chain;
    for (const cv::String& name : net.getLayerNames()) {
        const int id = net.getLayerId(name);
        const cv::Ptr<cv::dnn::Layer> layer = net.getLayer(id);
        const auto* found = dynamic_cast<const dnn::EncoderLayer*>(layer.get());
        if (!found) continue;
        if (!chain && found->control()->config().merges) chain = found->control();
        (found->control() == chain ? ids.segments : ids.others).push_back(id);
    }
    return ids;
}

std::optional<Sharing> sharing(cv::dnn::Net& net) {
    for (const cv::String& name : net.getLayerNames()) {
        const cv::Ptr<cv::dnn::Layer> layer = net.getLayer(net.getLayerId(name));
        if (const auto* found = dynamic_cast<const dnn::ShareLayer*>(layer.get()))
            return Sharing(found->control());
    }
    return std::nullopt;
}

Sharing::Sharing(std::shared_ptr<SharingControl> control) : m_control(std::move(control)) {
    if (!m_control) CV_Error(cv::Error::StsNullPtr, "mpm: a Sharing needs a control; use mpm::sharing(net)");
}

cv::Size Sharing::grid() const {
    return m_control->grid();
}

int Sharing::shared() const {
    return m_control->shared();
}

void Sharing::setShared(int count) {
    m_control->setShared(count);
}

void Sharing::setScores(const std::vector<cv::Mat>& scores) {
    m_control->setScores(scores);
}

}  // namespace mpm
