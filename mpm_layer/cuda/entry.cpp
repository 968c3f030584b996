// The C interface of libmpm_cuda: functions turn exceptions into a status and an error text.
#include "mpm_layer/cuda/interface/entry.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "mpm_layer/cuda/session.hpp"

struct MpmCudaEncoder {
    mpm::cuda::Weights weights;
};

struct MpmCudaSession {
    std::unique_ptr<mpm::cuda::Session> session;
};

namespace {

using mpm::cuda::CudaFailure;
using mpm::cuda::DeviceGuard;

int fail(MpmCudaError* error, const char* text, int status) {
    if (error) {
        std::strncpy(error->text, text, sizeof error->text - 1);
        error->text[sizeof error->text - 1] = 0;
    }
    return status;
}

template <class Body>
int guarded(MpmCudaError* error, const Body& body) {
    try {
        body();
        return MPM_CUDA_OK;
    } catch (const CudaFailure& e) {
        return fail(error, e.what(), e.outOfMemory() ? MPM_CUDA_OUT_OF_MEMORY : MPM_CUDA_FAILED);
    } catch (const mpm::cuda::Unsupported& e) {
        return fail(error, e.what(), MPM_CUDA_UNSUPPORTED);
    } catch (const std::bad_alloc&) {
        return fail(error, "out of memory on the CPU", MPM_CUDA_OUT_OF_MEMORY);
    } catch (const std::exception& e) {
        return fail(error, e.what(), MPM_CUDA_FAILED);
    }
}

template <class Body>
int withSession(MpmCudaSession* handle, MpmCudaError* error, const Body& body) {
    return guarded(error, [&] {
        const DeviceGuard guard(handle->session->device());
        body(*handle->session);
    });
}

int deviceCount(int32_t* count, MpmCudaError* error) {
    return guarded(error, [&] {
        *count = 0;
        const cudaError_t status = cudaGetDeviceCount(count);
        if (status == cudaErrorNoDevice) {
            cudaGetLastError();
            *count = 0;
            return;
        }
        if (status == cudaErrorInsufficientDriver) {
            cudaGetLastError();
            int driver = 0;
            MPM_CUDA_CHECK(cudaDriverGetVersion(&driver));
            throw mpm::cuda::Unsupported(driver == 0 ? "there is no NVIDIA driver"
                                                     : "the NVIDIA driver is older than this library's CUDA");
        }
        MPM_CUDA_CHECK(status);
    });
}

int deviceInfo(int32_t index, MpmCudaDevice* device, MpmCudaError* error) {
    return guarded(error, [&] {
        cudaDeviceProp properties{};
        MPM_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
        *device = MpmCudaDevice{};
        std::copy_n(properties.name, std::min(sizeof properties.name, sizeof device->name - 1), device->name);
        device->major = properties.major;
        device->minor = properties.minor;
        device->multiprocessors = properties.multiProcessorCount;
        device->memory = properties.totalGlobalMem;
    });
}

int createEncoder(int32_t device, const MpmCudaEncoderDescription* description, MpmCudaEncoder** encoder,
                  MpmCudaError* error) {
    return guarded(error, [&] { *encoder = new MpmCudaEncoder{{device, *description}}; });
}

void destroyEncoder(MpmCudaEncoder* encoder) {
    delete encoder;
}

int begin(MpmCudaEncoder* encoder, const MpmCudaInput* input, MpmCudaSession** session, MpmCudaError* error) {
    return guarded(error, [&] {
        const DeviceGuard guard(encoder->weights.device);
        try {
            *session = new MpmCudaSession{mpm::cuda::makeSession(encoder->weights, *input)};
        } catch (const CudaFailure& e) {
            // Idle executors hold memory. Frees their memory and tries again.
            if (!e.outOfMemory() || !mpm::cuda::dropIdleExecutors(encoder->weights.device)) throw;
            *session = new MpmCudaSession{mpm::cuda::makeSession(encoder->weights, *input)};
        }
    });
}

int reduce(MpmCudaSession* handle, const MpmCudaStage* stage, MpmCudaError* error) {
    return withSession(handle, error, [&](auto& session) { session.reduce(*stage); });
}

int attend(MpmCudaSession* handle, int32_t block, MpmCudaError* error) {
    return withSession(handle, error, [&](auto& session) { session.attend(block); });
}

int runMlp(MpmCudaSession* handle, int32_t block, MpmCudaError* error) {
    return withSession(handle, error, [&](auto& session) { session.runMlp(block); });
}

int emit(MpmCudaSession* handle, int32_t norm, float* output, int32_t onDevice, MpmCudaError* error) {
    return withSession(handle, error, [&](auto& session) { session.emit(norm != 0, output, onDevice != 0); });
}

int finish(MpmCudaSession* handle, MpmCudaTimes* times, MpmCudaError* error) {
    return withSession(handle, error, [&](auto& session) { *times = session.finish(); });
}

int stageTokens(MpmCudaSession* handle, int32_t stage, int32_t image, int32_t* tokens, MpmCudaError* error) {
    return withSession(handle, error, [&](auto& session) { *tokens = session.stageTokens(stage, image); });
}

int stageMap(MpmCudaSession* handle, int32_t stage, int32_t image, int32_t* ids, MpmCudaError* error) {
    return withSession(handle, error, [&](auto& session) { session.stageMap(stage, image, ids); });
}

int readCounts(MpmCudaSession* handle, int32_t* counts, MpmCudaError* error) {
    return withSession(handle, error, [&](auto& session) { session.readCounts(counts); });
}

int readRows(MpmCudaSession* handle, float* rows, float* keys, float* sizes, MpmCudaError* error) {
    return withSession(handle, error, [&](auto& session) { session.readRows(rows, keys, sizes); });
}

void end(MpmCudaSession* handle) {
    delete handle;
}

int restore(int32_t device, const MpmCudaRestore* request, MpmCudaError* error) {
    return guarded(error, [&] {
        try {
            mpm::cuda::restore(device, *request);
        } catch (const CudaFailure& e) {
            if (!e.outOfMemory() || !mpm::cuda::dropIdleExecutors(device)) throw;
            mpm::cuda::restore(device, *request);
        }
    });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const MpmCudaEntry* mpm_cuda_entry(uint32_t version) {
    static const MpmCudaEntry entry = {MPM_CUDA_ENTRY_VERSION,
                                       sizeof(MpmCudaEntry),
                                       deviceCount,
                                       deviceInfo,
                                       createEncoder,
                                       destroyEncoder,
                                       begin,
                                       reduce,
                                       attend,
                                       runMlp,
                                       emit,
                                       finish,
                                       stageTokens,
                                       stageMap,
                                       readCounts,
                                       readRows,
                                       end,
                                       restore};
    return version == MPM_CUDA_ENTRY_VERSION ? &entry : nullptr;
}
