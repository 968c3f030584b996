// Fuzzes the reader of variant.yml, a file of Segmenter's checkpoints.
#include <cstdint>

#include "models/torch/files/variant_yml.hpp"
#include "tests/fuzz/weights.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    mpm::fuzz::attempt(
        [&] { mpm::models::parseVariant(std::string(reinterpret_cast<const char*>(data), size)); });
    return 0;
}
