// A libmpm_cuda in name only: what its loader is told about version, driver and devices is chosen when it is
// compiled.
#include <cstdio>

#include "mpm_layer/cuda/entry.h"

#ifndef FAKE_DEVICES
#define FAKE_DEVICES 0
#endif
#ifndef FAKE_VERSION
#define FAKE_VERSION MPM_CUDA_ENTRY_VERSION
#endif
#ifndef FAKE_SIZE
#define FAKE_SIZE sizeof(MpmCudaEntry)
#endif

namespace {

int deviceCount(int32_t* count, MpmCudaError* error) {
#ifdef FAKE_NO_DRIVER
    std::snprintf(error->text, sizeof error->text, "there is no NVIDIA driver");
    (void)count;
    return MPM_CUDA_UNSUPPORTED;
#else
    (void)error;
    *count = FAKE_DEVICES;
    return MPM_CUDA_OK;
#endif
}

// The first device is too old, the others are not.
int deviceInfo(int32_t index, MpmCudaDevice* device, MpmCudaError*) {
    *device = {"Fake", index == 0 ? 7 : 9, 0, 1, 1};
    return MPM_CUDA_OK;
}

const MpmCudaEntry* makeEntry() {
    static MpmCudaEntry entry{};
    entry.version = FAKE_VERSION;
    entry.size = FAKE_SIZE;
    entry.device_count = deviceCount;
    entry.device_info = deviceInfo;
    return &entry;
}

}  // namespace

#ifdef FAKE_OLDER
// A library that knows other versions only.
extern "C" const MpmCudaEntry* mpm_cuda_entry(uint32_t version) {
    return version == MPM_CUDA_ENTRY_VERSION - 1 ? makeEntry() : nullptr;
}
#elif !defined(FAKE_WITHOUT_ENTRY)
extern "C" const MpmCudaEntry* mpm_cuda_entry(uint32_t) {
    return makeEntry();
}
#else
extern "C" const MpmCudaEntry* another_function() {
    return makeEntry();
}
#endif
