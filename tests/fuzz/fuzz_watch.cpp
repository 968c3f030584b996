// Fuzzes the reader of watch files. A file that is accepted must not change if it is written and read again.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/printable.hpp"
#include "gui/services/watch_settings.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace mpm::gui;
    const QByteArray text(reinterpret_cast<const char*>(data), static_cast<qsizetype>(size));
    try {
        const WatchSettings settings = parseWatchSettings(text);
        const QByteArray written = watchText(settings);
        const WatchSettings again = parseWatchSettings(written);
        if (watchText(again) != written) std::abort();
        for (const auto& rule : settings.alerts)
            if (mpm::printable(rule.name, 1000) != rule.name) std::abort();
    } catch (const WatchError&) {
        // A rejection is correct.
    }
    return 0;
}
