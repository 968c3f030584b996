#include "mpm_layer/encoder/control.hpp"

#include <cstdlib>
#include <sstream>

#include <mpm/precisions.hpp>
#include <mpm/read_net.hpp>

#include "base/printable.hpp"
#include "mpm_layer/encoder/reuse/plan.hpp"
#include "mpm_layer/merge/reducer.hpp"

namespace mpm {
namespace {

std::mutex g_processGuard;
Settings g_processSettings;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

// Copies a map, so that the caller may write to the copy. Returns an empty map as it is, because clone()
// would lose its type.
cv::Mat ownCopy(const cv::Mat& values) {
    return values.empty() ? values : values.clone();
}

// Reads an environment variable into `value` if the variable is set and `value` is absent. Error messages
// name the variable.
template <class Value, class Parse>
bool readVariable(const char* name, std::optional<Value>& value, const Parse& parse) {
    const std::string text = environment(name), own = "mpm: ";
    if (value || text.empty()) return false;
    try {
        value = parse(text);
    } catch (const cv::Exception& e) {
        const std::string what = e.err.rfind(own, 0) == 0 ? e.err.substr(own.size()) : e.err;
        CV_Error(e.code, own + name + ": " + what);
    }
    return true;
}

}  // namespace

void Settings::fallBackTo(const Settings& lower) {
    if (!schedule) {
        schedule = lower.schedule;
        scheduleOrigin = lower.scheduleOrigin;
    }
    if (!method) method = lower.method;
    if (!precision) precision = lower.precision;
    if (!batchIndependent) batchIndependent = lower.batchIndependent;
    if (!device) {
        device = lower.device;
        deviceIndex = lower.deviceIndex;
    }
    imposed.insert(lower.imposed.begin(), lower.imposed.end());
}

void Settings::scheduleFromEnvironment() {
    if (readVariable("MPM_BLOCKS", schedule, scheduleFrom)) scheduleOrigin = "MPM_BLOCKS";
}

void Settings::methodFromEnvironment() {
    readVariable("MPM_METHOD", method, methodFrom);
}

void Settings::deviceFromEnvironment() {
    readVariable("MPM_DEVICE", device,
                 [this](const std::string& text) { return deviceFrom(text, deviceIndex); });
}

void Settings::fallBackToEnvironment(bool withSchedule, const Reuse& reuseOfFile) {
    if (withSchedule) {
        scheduleFromEnvironment();
        methodFromEnvironment();
    }
    deviceFromEnvironment();
    readVariable("MPM_PRECISION", precision, precisionFrom);
    readVariable("MPM_BATCH_INDEPENDENT", batchIndependent,
                 [](const std::string& text) { return switchFrom("batch independence", text); });
    readVariable("MPM_REUSE", reuse, [&](const std::string& text) { return reuseFrom(text, reuseOfFile); });
}

Settings processSettings() {
    const std::lock_guard<std::mutex> lock(g_processGuard);
    return g_processSettings;
}

void changeProcessSettings(const std::function<void(Settings&)>& change) {
    const std::lock_guard<std::mutex> lock(g_processGuard);
    change(g_processSettings);
}

bool processNamesDevice() {
    return processSettings().device || !environment("MPM_DEVICE").empty();
}

Device deviceFrom(const std::string& name, int& index) {
    index = 0;
    if (name == "cpu") return Device::Cpu;
    if (name == "auto") return Device::Auto;
    if (name == "cuda") return Device::Cuda;
    const std::string prefix = "cuda:";
    const std::string digits = name.substr(0, prefix.size()) == prefix ? name.substr(prefix.size()) : "";
    if (!digits.empty() && digits.size() < 4 && digits.find_first_not_of("0123456789") == std::string::npos) {
        index = std::stoi(digits);
        return Device::Cuda;
    }
    CV_Error(cv::Error::StsBadArg,
             "mpm: device '" + printable(name, 80) + "' is not known; expected cpu, cuda, cuda:N or auto");
}

std::vector<PrecisionInfo> precisions() {
    return {{Precision::F32, "f32", true},
            {Precision::TF32, "tf32", false},
            {Precision::BF16, "bf16", true},
            {Precision::F16, "f16", false},
            {Precision::I8, "i8", true},
            {Precision::Auto, "auto", true},
            {Precision::AutoFast, "auto-fast", true}};
}

std::string precisionNames() {
    const std::vector<PrecisionInfo> all = precisions();
    std::string text;
    for (size_t i = 0; i < all.size(); ++i)
        text += (i == 0 ? "" : i + 1 < all.size() ? ", " : " or ") + all[i].name;
    return text;
}

Precision precisionFrom(const std::string& name) {
    for (const PrecisionInfo& known : precisions())
        if (known.name == name) return known.precision;
    CV_Error(cv::Error::StsBadArg,
             "mpm: precision '" + printable(name, 80) + "' is not known; expected " + precisionNames());
}

bool switchFrom(const std::string& name, const std::string& text) {
    if (text == "on") return true;
    if (text == "off") return false;
    CV_Error(cv::Error::StsBadArg,
             "mpm: " + name + " '" + printable(text, 80) + "' is not known; expected on or off");
}

std::vector<int> scheduleFrom(const std::string& text) {
    std::vector<int> blocks;
    if (text == "none") return blocks;
    std::istringstream parts(text + ",");  // so that the last part also ends with a comma
    for (std::string part; std::getline(parts, part, ',');) {
        const bool number =
            !part.empty() && part.size() <= 4 && part.find_first_not_of("0123456789") == std::string::npos;
        if (!number || (!blocks.empty() && std::stoi(part) <= blocks.back())) {
            CV_Error(cv::Error::StsBadArg, "mpm: blocks '" + printable(text, 80) +
                                               "' are not a schedule; expected numbers that increase, like "
                                               "2,5, or none");
        }
        blocks.push_back(std::stoi(part));
    }
    return blocks;
}

std::string methodFrom(const std::string& text) {
    if (text != "none") makeReducer(text);
    return text;
}

EncoderControl::EncoderControl(const EncoderConfig& segment)
    : m_config(segment.ofChain()), m_segments(segment), m_dim(segment.dim) {}

bool EncoderControl::addSegment(const EncoderConfig& segment) {
    const std::lock_guard<std::mutex> lock(m_guard);
    if (!m_segments.takes(segment)) return false;
    m_segments.add(segment);
    return true;
}

int EncoderControl::segments() const {
    const std::lock_guard<std::mutex> lock(m_guard);
    return m_segments.count();
}

void EncoderControl::checkSegments() const {
    const std::lock_guard<std::mutex> lock(m_guard);
    m_segments.check();
}

std::vector<int> EncoderControl::scheduleOfFile() const {
    const std::lock_guard<std::mutex> lock(m_guard);
    return m_segments.schedule();
}

std::string EncoderControl::methodOfFile() const {
    const std::lock_guard<std::mutex> lock(m_guard);
    return m_segments.method();
}

Settings EncoderControl::ownOrProcess(const EncoderControl* backbone) const {
    Settings settings = own(), process = processSettings();
    if (backbone && !m_config.merges) {
        const Settings others = backbone->own();
        Settings taken;
        taken.precision = others.precision;
        taken.device = others.device;
        taken.deviceIndex = others.deviceIndex;
        settings.fallBackTo(taken);
    }
    if (!m_config.merges) process.schedule.reset();
    settings.fallBackTo(process);
    if (!settings.reuse && process.reuseText)
        settings.reuse = reuseFrom(*process.reuseText, read(m_reuseOfFile));
    return settings;
}

std::vector<int> EncoderControl::schedule() const {
    Settings settings = ownOrProcess(nullptr);
    if (m_config.merges) settings.scheduleFromEnvironment();
    return settings.schedule ? *settings.schedule : scheduleOfFile();
}

std::string EncoderControl::method() const {
    Settings settings = ownOrProcess(nullptr);
    if (m_config.merges) settings.methodFromEnvironment();
    return settings.method ? *settings.method : methodOfFile();
}

Settings EncoderControl::effective(const EncoderControl* backbone) const {
    Settings settings = ownOrProcess(backbone);
    settings.fallBackToEnvironment(m_config.merges, read(m_reuseOfFile));
    // If an empty schedule was set, no tokens merge, even with a reducer that ignores the schedule.
    if (settings.schedule && settings.schedule->empty()) settings.method = "none";
    if (!settings.schedule) settings.schedule = scheduleOfFile();
    if (!settings.device) settings.device = Device::Auto;
    if (!settings.precision) settings.precision = Precision::F32;
    if (!settings.batchIndependent) settings.batchIndependent = false;
    if (!settings.method) settings.method = settings.schedule->empty() ? "none" : methodOfFile();
    if (!settings.reuse) settings.reuse = std::optional<Reuse>();
    return settings;
}

void EncoderControl::setReport(const EncoderConfig& segment, Report report) {
    const std::lock_guard<std::mutex> lock(m_guard);
    if (segment.continues()) {
        extendReport(m_report, segment, std::move(report));
    } else {
        m_report = std::move(report);
    }
    if (m_config.merges && m_listener) m_listener(m_report);
}

void EncoderControl::keepOutput(bool keep) {
    const std::lock_guard<std::mutex> lock(m_guard);
    m_keepsOutput = keep;
    if (!keep) m_output.release();
}

void EncoderControl::setOutput(const cv::Mat& tokens) {
    const std::lock_guard<std::mutex> lock(m_guard);
    if (m_keepsOutput) m_output = tokens.clone();
}

void EncoderControl::noteF32(const std::string& layer, bool stays) {
    const std::lock_guard<std::mutex> lock(m_guard);
    if (stays && !layer.empty()) {
        m_f32Behind.insert(layer);
    } else {
        m_f32Behind.erase(layer);
    }
}

Report EncoderControl::report() const {
    Report report;
    {
        const std::lock_guard<std::mutex> lock(m_guard);
        report = m_report;
        report.keptInF32.insert(report.keptInF32.end(), m_f32Behind.begin(), m_f32Behind.end());
    }
    for (ImageReport& image : report.images) {
        image.map = ownCopy(image.map);
        image.reuse.reasons = ownCopy(image.reuse.reasons);
        image.reuse.ages = ownCopy(image.reuse.ages);
        for (Stage& stage : image.stages)
            stage.map = ownCopy(stage.map);
    }
    return report;
}

}  // namespace mpm
