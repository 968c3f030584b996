// Implements mpm::Encoder, the handle of the public header.
#include <set>

#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/encoder/control.hpp"
#include "mpm_layer/encoder/reuse/plan.hpp"
#include "mpm_layer/encoder/runner.hpp"
#include "mpm_layer/encoder/windows.hpp"
#include "mpm_layer/merge/reducer.hpp"

namespace mpm {

// Throws if the handle was moved from, because it then has no control.
EncoderControl& Encoder::control() const {
    if (!m_control)
        CV_Error(cv::Error::StsNullPtr, "mpm: this Encoder was moved from; use the one it was moved to");
    return *m_control;
}

Encoder::Encoder(std::shared_ptr<EncoderControl> control) : m_control(std::move(control)) {
    if (!m_control) CV_Error(cv::Error::StsNullPtr, "mpm: an Encoder needs a control; use mpm::encoder(net)");
}

void Encoder::setSchedule(const std::vector<int>& blocks) {
    checkSchedule(blocks, control().config());
    control().change([&](Settings& s) { s.schedule = blocks; });
}

std::vector<int> Encoder::schedule() const {
    return control().schedule();
}

void Encoder::setMethod(const std::string& method) {
    control().change([method = methodFrom(method)](Settings& s) { s.method = method; });
}

std::string Encoder::method() const {
    return control().method();
}

void Encoder::setDevice(Device device, int index) {
    if (index < 0)
        CV_Error(cv::Error::StsOutOfRange,
                 cv::format("mpm: device index must not be negative, got %d", index));
    makeBackend(device, index);
    control().change([&](Settings& s) {
        s.device = device;
        s.deviceIndex = index;
    });
}

void Encoder::setPrecision(Precision precision) {
    const Settings own = control().own();
    // If the C interface or the environment names a device, setDevice() may still override this device, so
    // only the forward can check the precision.
    if (own.device || !processNamesDevice())
        makeBackend(deviceFor(control().config(), own.device.value_or(Device::Auto)), own.deviceIndex)
            ->resolve(precision);
    control().change([&](Settings& s) { s.precision = precision; });
}

void Encoder::setBatchIndependent(bool independent) {
    control().change([&](Settings& s) { s.batchIndependent = independent; });
}

void Encoder::setReuse(const std::optional<Reuse>& reuse) {
    if (reuse) {
        checkReuse(*reuse);
        const Settings own = control().own();
        if (own.device && *own.device == Device::Cuda) {
            CV_Error(cv::Error::StsNotImplemented,
                     "mpm: reuse over time runs on the processor only; call setDevice(Device::Cpu) first");
        }
    }
    control().change([&](Settings& s) { s.reuse = reuse; });
}

void Encoder::setStreams(const std::vector<int>& ids) {
    if (std::set<int>(ids.begin(), ids.end()).size() != ids.size())
        CV_Error(cv::Error::StsBadArg, "mpm: setStreams takes each stream's id once");
    control().change([&](Settings& s) { s.streams = ids; });
}

void Encoder::forget(int stream) {
    if (const std::shared_ptr<EncoderRunner> runner = control().runner()) runner->forget(stream);
}

void Encoder::forget() {
    if (const std::shared_ptr<EncoderRunner> runner = control().runner()) runner->forget();
}

void Encoder::forwardOnDevice(const float* tokens, int images, int rows, const std::vector<float*>& outputs,
                              void* stream) {
    const std::shared_ptr<EncoderRunner> runner = control().runner();
    if (!runner) CV_Error(cv::Error::StsError, "mpm: the network of this handle is gone");
    runner->runOnDevice(tokens, images, rows, outputs, stream);
}

void Encoder::setMaps(int stage, const std::vector<cv::Mat>& maps) {
    if (stage < 0)
        CV_Error(cv::Error::StsOutOfRange, cv::format("mpm: stage must not be negative, got %d", stage));
    if (maps.empty()) CV_Error(cv::Error::StsBadArg, "mpm: setMaps needs one map, or one for each image");
    std::vector<MergeMap> imposed;
    for (const cv::Mat& map : maps)
        imposed.push_back(toMergeMap(map, "an imposed map"));
    control().change([&](Settings& s) { s.imposed[stage] = imposed; });
}

void Encoder::clearMaps() {
    control().change([](Settings& s) { s.imposed.clear(); });
}

Report Encoder::report() const {
    return control().report();
}

std::vector<int> Encoder::tokens(int image) const {
    const Report last = report();
    const int images = static_cast<int>(last.images.size());
    if (image < 0 || image >= images)
        CV_Error(
            cv::Error::StsOutOfRange,
            cv::format("mpm: image must be below %d, the images of the last forward, got %d", images, image));
    return last.images[image].tokens;
}

std::vector<std::vector<int>> Encoder::tokensByWindow(int image) const {
    tokens(image);  // throws if there is no such image
    return mpm::tokensByWindow(control().config(), report().images[image]);
}

void Encoder::keepOutput(bool keep) {
    control().keepOutput(keep);
}

cv::Mat Encoder::output() const {
    return control().output();
}

int Encoder::blocks() const {
    return control().config().blocks;
}
int Encoder::dim() const {
    return control().dim();
}
int Encoder::heads() const {
    return control().config().heads;
}
int Encoder::specialTokens() const {
    return control().config().specialRows();
}

}  // namespace mpm
