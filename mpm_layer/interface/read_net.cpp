#include <mutex>

#include <opencv2/core/utils/logger.hpp>

#include <mpm/read_net.hpp>

#include "mpm_layer/dnn/encoder_layer.hpp"
#include "mpm_layer/model/onnx_metadata.hpp"

namespace mpm {
namespace {

namespace logging = cv::utils::logging;

/// Suppresses OpenCV's warnings about operators of unknown domains. The warnings would be wrong, because the
/// operators of the domain `mpm` are registered. OpenCV still prints errors. All threads share the log level,
/// so the reader that finishes last restores the level.
class Quiet {
public:
    Quiet() {
        const std::lock_guard<std::mutex> lock(s_guard);
        if (s_readers++ > 0) return;
        s_before = logging::getLogLevel();
        if (s_before > logging::LOG_LEVEL_ERROR) logging::setLogLevel(logging::LOG_LEVEL_ERROR);
    }
    ~Quiet() {
        const std::lock_guard<std::mutex> lock(s_guard);
        if (--s_readers == 0) logging::setLogLevel(s_before);
    }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

private:
    static inline std::mutex s_guard;
    static inline int s_readers = 0;
    static inline logging::LogLevel s_before = logging::LOG_LEVEL_WARNING;
};

cv::dnn::Net readQuietly(const std::string& path) {
    const Quiet quiet;
    const ReadingNetwork reading;
    return dnn::readOnnx(path);
}

}  // namespace

cv::dnn::Net readNet(const std::string& path) {
    registerLayers();
    readOnnxMetadata(path);  // rejects a file of a later version; OpenCV does not
    cv::dnn::Net net = readQuietly(path);
    for (const cv::String& name : net.getLayerNames()) {
        const cv::Ptr<cv::dnn::Layer> layer = net.getLayer(net.getLayerId(name));
        const auto* found = dynamic_cast<const dnn::EncoderLayer*>(layer.get());
        if (!found) continue;
        dnn::useExactConvolutions(net);
        if (!found->control()->config().merges) continue;
        found->control()->setReuseOfFile(reuseOf(path));  // OpenCV does not keep metadata
        break;
    }
    return net;
}

}  // namespace mpm
