// The emulated runtime has a single device, and serialises calls.
#include "support/cuda/streams.hpp"

#include <cstdio>

namespace emulated {

std::recursive_mutex& runtimeGuard() {
    static std::recursive_mutex& guard = *new std::recursive_mutex;
    return guard;
}

namespace {
thread_local cudaError_t lastError = cudaSuccess;
thread_local std::string lastFailure;
}  // namespace

cudaError_t remembered(cudaError_t error, const std::string& failure) {
    if (error != cudaSuccess) lastError = error;
    if (!failure.empty()) lastFailure = failure;
    return error;
}

}  // namespace emulated

using emulated::remembered;

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (device != 0) return remembered(cudaErrorInvalidDevice);
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "Emulated");
    properties->totalGlobalMem = size_t{4} << 30;
    properties->major = 8;
    properties->multiProcessorCount = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    return remembered(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaGetLastError() {
    const cudaError_t error = emulated::lastError;
    emulated::lastError = cudaSuccess;
    return error;
}

const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess:
            return "no error";
        case cudaErrorMemoryAllocation:
            return "out of memory";
        case cudaErrorInvalidConfiguration:
            return "invalid configuration argument";
        case cudaErrorLaunchFailure:
            return emulated::lastFailure.c_str();
        case cudaErrorStreamCaptureUnsupported:
            return "operation not permitted when stream is capturing";
        case cudaErrorStreamCaptureInvalidated:
            return "operation failed due to a previous error during capture";
        default:
            return "invalid argument";
    }
}
