// Fuzzes addresses of sources. No part of the user information or of the query may be shown.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/printable.hpp"
#include "pipeline/source/address.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    static_cast<void>(mpm::pipeline::Address(text).redact(text));
    static_cast<void>(mpm::pipeline::redacted(text));
    if (!mpm::isUtf8(mpm::printable(text))) std::abort();
    // The secret must not occur elsewhere in the address.
    const std::string secret = "Zq9Zq9Zq9";
    for (const std::string& form :
         {"rtsp://" + secret + "@" + text, "rtsp://u:" + secret + "@h/" + text + "?x",
          "http://h/p?token=" + secret + text, "gst:rtspsrc location=" + secret + " " + text}) {
        if (text.find_first_of("Zq9") != std::string::npos) break;
        const mpm::pipeline::Address address(form);
        if (address.shown().find(secret) != std::string::npos) std::abort();
        if (address.redact("opening " + form + " failed").find(secret) != std::string::npos) std::abort();
    }
    return 0;
}
