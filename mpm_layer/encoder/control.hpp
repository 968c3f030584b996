// The settings of an encoder, from the handle, the C interface and the environment; and the encoder's last
// report.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <mpm/mpm.hpp>

#include "mpm_layer/encoder/chain.hpp"
#include "mpm_layer/encoder/config.hpp"
#include "mpm_layer/merge/merge_map.hpp"

namespace mpm {

/// Settings from a single source: the handle, the C interface or the environment. An entry is absent if the
/// source did not set the entry.
struct Settings {
    std::optional<std::vector<int>> schedule;
    std::string scheduleOrigin;  ///< for messages: the function or variable that set the schedule, or empty
    std::optional<std::string> method;
    std::optional<Device> device;
    int deviceIndex = 0;
    std::optional<Precision> precision;
    std::optional<bool> batchIndependent;
    std::optional<std::optional<Reuse>> reuse;  ///< an inner std::nullopt: reuse is off
    std::optional<std::string> reuseText;       ///< options that are not in the text come from the model file
    std::vector<int> streams;                   ///< stream of each image; empty: the image's index
    std::map<int, std::vector<MergeMap>> imposed;

    void fallBackTo(const Settings& lower);
    /// Fills absent entries from the environment. Reads the variables at each call, because the program may
    /// change them. If an entry is set, its variable is ignored, even if the variable is invalid.
    void fallBackToEnvironment(bool withSchedule, const Reuse& reuseOfFile);
    void scheduleFromEnvironment();
    void methodFromEnvironment();
    void deviceFromEnvironment();
};

/// Returns the settings that were made through the C interface.
Settings processSettings();
/// Returns whether the C interface or the environment names a device, even if the device is not usable.
bool processNamesDevice();
void changeProcessSettings(const std::function<void(Settings&)>& change);

Device deviceFrom(const std::string& name, int& index);
Precision precisionFrom(const std::string& name);
bool switchFrom(const std::string& name, const std::string& text);  ///< "on" or "off"
std::vector<int> scheduleFrom(const std::string& text);             ///< "2,5", increasing, or "none"
std::string methodFrom(const std::string& text);                    ///< "none" or a known reducer

class EncoderRunner;

/// The settings and the report of a chain, or of a single encoder. All layers and handles of the chain share
/// this object.
class EncoderControl {
public:
    explicit EncoderControl(const EncoderConfig& segment);

    /// Returns the configuration of the whole chain, but with schedule and taps of the first segment.
    const EncoderConfig& config() const { return m_config; }
    /// Returns false, and does not add the segment, if the segment belongs to another chain.
    bool addSegment(const EncoderConfig& segment);
    int segments() const;
    /// Throws if segments are missing, overlap, or differ in method or windows.
    void checkSegments() const;
    void setDim(int dim) { write(m_dim, dim); }
    int dim() const { return read(m_dim); }

    template <class Change>
    void change(const Change& change) {
        const std::lock_guard<std::mutex> lock(m_guard);
        change(m_own);
    }
    /// Sets the reuse options of the model file. These options are the defaults for the texts of `MPM_REUSE`
    /// and `mpm_set_reuse`: if a text does not name an option, the option of the model file applies.
    void setReuseOfFile(const Reuse& reuse) { write(m_reuseOfFile, reuse); }
    /// Returns the settings of the handle.
    Settings own() const { return read(m_own); }
    /// Returns the settings of the next forward. Each entry comes from the first source that sets the entry,
    /// in this order: handle, C interface, environment, model file. A decoder has no handle, so its device
    /// and precision come from the handle of `backbone`, unless `backbone` is null.
    Settings effective(const EncoderControl* backbone = nullptr) const;
    std::vector<int> schedule() const;  ///< the schedule of effective(); reads no other settings
    std::string method() const;         ///< as in effective(), but does not depend on the schedule

    /// Sets the runner of this encoder, so that the handle can start a forward.
    void setRunner(std::weak_ptr<EncoderRunner> runner) { write(m_runner, std::move(runner)); }
    std::shared_ptr<EncoderRunner> runner() const { return read(m_runner).lock(); }

    /// Replaces the report, or extends the report if `segment` continues a chain. If the encoder is a
    /// backbone's, calls the listener in the thread of the forward.
    void setReport(const EncoderConfig& segment, Report report);
    void setListener(std::function<void(const Report&)> listener) { m_listener = std::move(listener); }
    Report report() const;
    void keepOutput(bool keep);
    void setOutput(const cv::Mat& tokens);  ///< the output of a segment; later segments overwrite it
    cv::Mat output() const { return read(m_output); }
    /// Notes in the report whether a layer after the encoder runs in f32 although the encoder runs in int8.
    void noteF32(const std::string& layer, bool stays);

private:
    Settings ownOrProcess(const EncoderControl* backbone) const;
    std::vector<int> scheduleOfFile() const;
    std::string methodOfFile() const;

    template <class Value>
    Value read(const Value& member) const {
        const std::lock_guard<std::mutex> lock(m_guard);
        return member;
    }
    template <class Value>
    void write(Value& member, Value value) {
        const std::lock_guard<std::mutex> lock(m_guard);
        member = std::move(value);
    }

    const EncoderConfig m_config;
    mutable std::mutex m_guard;
    Segments m_segments;
    Settings m_own;
    Reuse m_reuseOfFile;
    Report m_report;
    bool m_keepsOutput = false;
    cv::Mat m_output;
    std::set<std::string> m_f32Behind;  ///< layers after the encoder that run in f32 despite int8
    int m_dim = 0;
    std::weak_ptr<EncoderRunner> m_runner;
    std::function<void(const Report&)> m_listener;
};

}  // namespace mpm
