#include <algorithm>
#include <optional>
#include <string>

#include <mpm/mpm.h>

#include "mpm_layer/encoder/backend.hpp"
#include "mpm_layer/encoder/control.hpp"
#include "mpm_layer/interface/guard.hpp"

namespace {

using mpm::guarded;

const mpm::ImageReport& imageAt(int image) {
    const mpm::Report& report = mpm::keptReport();
    if (image >= 0 && image < static_cast<int>(report.images.size())) return report.images[image];
    CV_Error(cv::Error::StsOutOfRange, cv::format("mpm: image %d is not in this thread's last report of %d",
                                                  image, static_cast<int>(report.images.size())));
}

const mpm::Stage& stageAt(int image, int stage) {
    const mpm::ImageReport& report = imageAt(image);
    if (stage >= 0 && stage < static_cast<int>(report.stages.size())) return report.stages[stage];
    CV_Error(cv::Error::StsOutOfRange, cv::format("mpm: stage %d is not among the %d of the report", stage,
                                                  static_cast<int>(report.stages.size())));
}

int copyOut(const int* values, size_t count, int* to, int capacity) {
    if (!to && capacity > 0) CV_Error(cv::Error::StsNullPtr, "mpm: the output pointer is null");
    if (to) std::copy_n(values, std::min(count, static_cast<size_t>(std::max(capacity, 0))), to);
    return static_cast<int>(count);
}

int copyOut(const cv::Mat& map, int* to, int capacity) {
    return map.empty() ? 0 : copyOut(map.ptr<int>(), map.total(), to, capacity);
}

// Sets a setting of the process; if `text` is null, removes the setting.
template <class Value, class Parse>
int set(std::optional<Value> mpm::Settings::*setting, const char* text, const Parse& parse) {
    return guarded([&] {
        const std::optional<Value> value = text ? std::make_optional(parse(text)) : std::nullopt;
        mpm::changeProcessSettings([&](mpm::Settings& s) { s.*setting = value; });
        return 0;
    });
}

}  // namespace

const char* mpm_version(void) {
    return mpm::version();
}

int mpm_set_blocks(const char* blocks) {
    return guarded([&] {
        const auto value = blocks ? std::make_optional(mpm::scheduleFrom(blocks)) : std::nullopt;
        mpm::changeProcessSettings([&](mpm::Settings& s) {
            s.schedule = value;
            s.scheduleOrigin = "mpm_set_blocks";
        });
        return 0;
    });
}

int mpm_set_method(const char* method) {
    return set(&mpm::Settings::method, method, mpm::methodFrom);
}

int mpm_set_device(const char* device) {
    return guarded([&] {
        int index = 0;
        const auto value = device ? std::make_optional(mpm::deviceFrom(device, index)) : std::nullopt;
        if (value) mpm::makeBackend(*value, index);
        mpm::changeProcessSettings([&](mpm::Settings& s) {
            s.device = value;
            s.deviceIndex = index;
        });
        return 0;
    });
}

int mpm_set_precision(const char* precision) {
    return set(&mpm::Settings::precision, precision, mpm::precisionFrom);
}

int mpm_set_batch_independent(const char* independent) {
    return set(&mpm::Settings::batchIndependent, independent,
               [](const std::string& text) { return mpm::switchFrom("batch independence", text); });
}

int mpm_set_reuse(const char* reuse) {
    return guarded([&] {
        std::optional<std::string> value;
        if (reuse) mpm::reuseFrom(value.emplace(reuse));  // throws if the text is invalid
        mpm::changeProcessSettings([&](mpm::Settings& s) { s.reuseText = value; });
        return 0;
    });
}

int mpm_report_images(void) {
    return static_cast<int>(mpm::keptReport().images.size());
}

int mpm_report_map_size(int image) {
    return guarded([&] { return static_cast<int>(imageAt(image).map.total()); });
}

int mpm_report_map(int image, int* ids, int capacity) {
    return guarded([&] { return copyOut(imageAt(image).map, ids, capacity); });
}

int mpm_report_tokens(int image, int* tokens, int capacity) {
    return guarded([&] {
        const std::vector<int>& found = imageAt(image).tokens;
        return copyOut(found.data(), found.size(), tokens, capacity);
    });
}

int mpm_report_stages(int image) {
    return guarded([&] { return static_cast<int>(imageAt(image).stages.size()); });
}

int mpm_report_stage(int image, int stage, int* block, int* tokens) {
    return guarded([&] {
        const mpm::Stage& found = stageAt(image, stage);
        if (block) *block = found.block;
        if (tokens) *tokens = found.tokens;
        return 0;
    });
}

int mpm_report_stage_map(int image, int stage, int* ids, int capacity) {
    return guarded([&] { return copyOut(stageAt(image, stage).map, ids, capacity); });
}

double mpm_report_merge_ms(void) {
    return mpm::keptReport().times.merge;
}
double mpm_report_restore_ms(void) {
    return mpm::keptReport().times.restore;
}
double mpm_report_whole_ms(void) {
    return mpm::keptReport().times.whole;
}
