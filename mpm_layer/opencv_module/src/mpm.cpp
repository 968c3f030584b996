#include "opencv2/mpm.hpp"

#include <mpm/mpm.h>

#include <mpm/mpm.hpp>
#include <mpm/read_net.hpp>

namespace cv {
namespace mpm {

namespace {

void check(int status) {
    if (status < 0) CV_Error(Error::StsBadArg, mpm_last_error());
}

}  // namespace

void registerLayers() {
    ::mpm::registerLayers();
}

dnn::Net readNet(const String& path) {
    return ::mpm::readNet(path);
}

Mat blobFromImage(InputArray image, const String& path) {
    return ::mpm::blobFromImage(image.getMat(), ::mpm::modelInfo(path));
}

std::vector<String> labels(const String& path) {
    return ::mpm::modelInfo(path).labels;
}

void set(const String& name, const String& value) {
    using Setter = int (*)(const char*);
    static const std::pair<const char*, Setter> kSetters[] = {
        {"blocks", mpm_set_blocks}, {"method", mpm_set_method},
        {"device", mpm_set_device}, {"precision", mpm_set_precision},
        {"reuse", mpm_set_reuse},   {"batch_independent", mpm_set_batch_independent}};
    for (const auto& [known, setter] : kSetters)
        if (name == known) return check(setter(value.empty() ? nullptr : value.c_str()));
    CV_Error(
        Error::StsBadArg,
        "set: expected blocks, method, device, precision, reuse or batch_independent, got '" + name + "'");
}

std::vector<int> tokens(int image) {
    const int blocks = mpm_report_tokens(image, nullptr, 0);
    check(blocks);
    std::vector<int> counts(blocks);
    mpm_report_tokens(image, counts.data(), blocks);
    return counts;
}

std::vector<double> times() {
    return {mpm_report_merge_ms(), mpm_report_restore_ms(), mpm_report_whole_ms()};
}

String version() {
    return mpm_version();
}

}  // namespace mpm
}  // namespace cv
