// libFuzzer: whatever bytes a model file holds, looking at it ends in a description or a refusal.
#include <cstddef>
#include <cstdint>

#include <opencv2/core.hpp>

#include "models/onnx/inspect.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    try {
        mpm::models::inspectModel(data, size);
    } catch (const mpm::models::Refusal&) {
    }
    return 0;
}
