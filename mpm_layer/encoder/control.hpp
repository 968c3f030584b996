// Settings of an encoder, which the handle, the C interface and the environment change, and its last report.
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

/// The settings of a level, such as the handle; absent entries are taken from the next level.
struct Settings {
    std::optional<std::vector<int>> schedule;
    std::string scheduleOrigin;  ///< for error messages: the function or variable of the schedule; else empty
    std::optional<std::string> method;
    std::optional<Device> device;
    int deviceIndex = 0;
    std::optional<Precision> precision;
    std::optional<bool> batchIndependent;
    std::optional<std::optional<Reuse>> reuse;     ///< std::nullopt inside: reuse is off
    std::optional<std::string> reuseText;          ///< options that are absent in the text: the model file's
    std::vector<int> streams;                      ///< stream of each image; empty: the image's index
    std::map<int, std::vector<MergeMap>> imposed;  ///< maps by stage

    /// Fills absent entries from `lower`.
    void fallBackTo(const Settings& lower);
    /// Fills absent entries from the environment, read again each time, since a host may change it. Variables
    /// of other entries are not read, and may have any value.
    void fallBackToEnvironment(bool withSchedule, const Reuse& reuseOfFile);
    void scheduleFromEnvironment();
    void methodFromEnvironment();
    void deviceFromEnvironment();
};

/// The settings of the C interface.
Settings processSettings();
/// Whether the C interface or the environment names a device, usable or not.
bool processNamesDevice();
void changeProcessSettings(const std::function<void(Settings&)>& change);

Device deviceFrom(const std::string& name, int& index);
Precision precisionFrom(const std::string& name);
bool switchFrom(const std::string& name, const std::string& text);  ///< "on" or "off"
std::vector<int> scheduleFrom(const std::string& text);             ///< "2,5", increasing, or "none"
std::string methodFrom(const std::string& text);                    ///< "none" or a known reducer

class EncoderRunner;

/// Settings and report that the layers of a chain, mostly a single layer, share with their handles.
class EncoderControl {
public:
    explicit EncoderControl(const EncoderConfig& segment);

    /// Returns the configuration of the whole chain, but with schedule and taps of its first segment.
    const EncoderConfig& config() const { return m_config; }
    /// Returns false if the segment belongs to another chain.
    bool addSegment(const EncoderConfig& segment);
    int segments() const;
    /// Throws if segments are missing or overlap.
    void checkSegments() const;
    void setDim(int dim) { write(m_dim, dim); }
    int dim() const { return read(m_dim); }

    template <class Change>
    void change(const Change& change) {
        const std::lock_guard<std::mutex> lock(m_guard);
        change(m_own);
    }
    /// Sets the options of reuse in the model file. Text that turns reuse on starts from them.
    void setReuseOfFile(const Reuse& reuse) { write(m_reuseOfFile, reuse); }
    /// Returns the settings of the handle.
    Settings own() const { return read(m_own); }
    /// Returns the settings in force: the handle's override the process's, then the environment's, then the
    /// model's. A decoder has no handle: device and precision are those of `backbone`'s handle, if not null.
    Settings effective(const EncoderControl* backbone = nullptr) const;
    std::vector<int> schedule() const;  ///< the schedule of effective(); reads no other settings
    std::string method() const;         ///< the method of effective(); reads no other settings

    /// Sets the runner of this encoder, so that the handle can start a forward.
    void setRunner(std::weak_ptr<EncoderRunner> runner) { write(m_runner, std::move(runner)); }
    std::shared_ptr<EncoderRunner> runner() const { return read(m_runner).lock(); }

    /// Sets or extends the report by that of a segment: the first segment of a chain replaces the report. The
    /// listener gets each report of a backbone, in the thread of the forward.
    void setReport(const EncoderConfig& segment, Report report);
    void setListener(std::function<void(const Report&)> listener) { m_listener = std::move(listener); }
    Report report() const;
    void keepOutput(bool keep);
    void setOutput(const cv::Mat& tokens);  ///< the output of a segment; later segments overwrite it
    cv::Mat output() const { return read(m_output); }
    /// Notes whether a layer after the encoder stays in f32.
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
    std::set<std::string> m_f32Behind;  ///< layers after the encoder that stay in f32
    int m_dim = 0;
    std::weak_ptr<EncoderRunner> m_runner;
    std::function<void(const Report&)> m_listener;
};

}  // namespace mpm
