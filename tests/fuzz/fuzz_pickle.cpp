// Fuzzes the reader of torch.save files: a zip archive with a pickle.
#include <cstdint>

#include "models/torch/files/pickle.hpp"
#include "tests/fuzz/weights.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    mpm::fuzz::readAll([&] { return mpm::models::torchZipTensors(bytes); });
    mpm::fuzz::attempt(
        [&] { mpm::models::readPickle(bytes); });  // also without the zip, which most mutants damage
    return 0;
}
