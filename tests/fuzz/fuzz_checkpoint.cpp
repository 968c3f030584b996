// Fuzzes the reader of checkpoints of mpm-models, of this version and of earlier versions.
#include <cstdint>

#include "models/torch/files/checkpoint_file.hpp"
#include "tests/fuzz/weights.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    mpm::fuzz::readAll([&] { return mpm::models::parseCheckpoint(bytes).tensors; });
    return 0;
}
