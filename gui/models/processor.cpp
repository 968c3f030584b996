#include "gui/models/processor.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace mpm::gui {

namespace {

template <typename T>
std::optional<T> readOne(const fs::path& path, std::ios_base& (*base)(std::ios_base&) = std::dec) {
    std::ifstream file(path);
    T value{};
    return file >> base >> value ? std::optional<T>(value) : std::nullopt;
}

/// Returns whether `type` contains a name that chips and kernels use for a processor's sensor.
bool ofProcessor(const std::string& type) {
    for (const char* word : {"cpu", "CPU", "x86_pkg", "soc", "package", "k10temp", "coretemp"})
        if (type.find(word) != std::string::npos) return true;
    return false;
}

std::optional<double> hottest(const std::string& root) {
    std::optional<double> celsius;
    std::error_code error;
    for (const fs::directory_entry& zone : fs::directory_iterator(root + "/class/thermal", error)) {
        const auto type = readOne<std::string>(zone.path() / "type");
        const auto milli = readOne<double>(zone.path() / "temp");
        if (!type || !milli || !ofProcessor(*type)) continue;
        celsius = std::max(celsius.value_or(-273), *milli / 1000);
    }
    return celsius;
}

/// Returns how often Intel processors have slowed down since the system started.
std::optional<std::int64_t> throttleCount(const std::string& root) {
    std::optional<std::int64_t> count;
    std::error_code error;
    for (const fs::directory_entry& cpu : fs::directory_iterator(root + "/devices/system/cpu", error)) {
        for (const char* of : {"core", "package"}) {
            const auto here = readOne<std::int64_t>(cpu.path() / "thermal_throttle" /
                                                    (std::string(of) + "_throttle_count"));
            if (here) count = count.value_or(0) + *here;
        }
    }
    return count;
}

}  // namespace

Processor::State Processor::read() {
    State state;
    state.celsius = hottest(m_root);
    if (const auto count = throttleCount(m_root)) {
        state.throttleKnown = true;
        state.throttled = m_throttles && *count > *m_throttles;
        m_throttles = count;
    }
    // The current state that a Raspberry Pi's firmware reports. Bit 0: the voltage is too low; bits 1 to 3:
    // the processor is slowed down.
    const auto pi = readOne<unsigned>(m_root + "/devices/platform/soc/soc:firmware/get_throttled", std::hex);
    if (pi) {
        state.throttleKnown = true;
        state.underVoltage = (*pi & 1u) != 0;
        state.throttled |= (*pi & 0xEu) != 0;
    }
    return state;
}

}  // namespace mpm::gui
