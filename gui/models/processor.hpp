// The processor's temperature and throttling, as far as Linux reports them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mpm::gui {

class Processor {
public:
    struct State {
        std::optional<double> celsius;  ///< the hottest sensor of a processor
        bool throttleKnown = false;
        bool throttled = false;     ///< now, or since the previous call to read()
        bool underVoltage = false;  ///< the supply of a Raspberry Pi is too weak
        bool known() const { return celsius || throttleKnown; }
    };

    /// `root`: the folder used as /sys.
    explicit Processor(std::string root = "/sys") : m_root(std::move(root)) {}
    State read();

private:
    std::string m_root;
    std::optional<std::int64_t> m_throttles;  // the count at the previous call to read()
};

}  // namespace mpm::gui
