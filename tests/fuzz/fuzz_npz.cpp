// Fuzzes the reader of numpy.savez archives.
#include <cstdint>

#include "tests/fuzz/weights.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    mpm::fuzz::readAll([&] { return mpm::models::npzTensors(bytes); });
    return 0;
}
