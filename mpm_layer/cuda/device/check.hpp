// Checks of calls and launches. A failure throws an exception with the name of the call.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace mpm::cuda {

class CudaFailure : public std::runtime_error {
public:
    CudaFailure(const std::string& what, bool outOfMemory)
        : runtime_error(what), m_outOfMemory(outOfMemory) {}
    bool outOfMemory() const { return m_outOfMemory; }

private:
    bool m_outOfMemory;
};

/// Thrown if the device or the library does not support a request. Failed calls throw CudaFailure.
class Unsupported : public std::runtime_error {
public:
    using runtime_error::runtime_error;
};

void checkRuntime(cudaError_t status, const char* operation, const char* file, int line);
void checkLaunch(cudaError_t status, const char* kernel);
void checkBlas(cublasStatus_t status, const char* operation, const char* file, int line);

}  // namespace mpm::cuda

#define MPM_CUDA_CHECK(call) ::mpm::cuda::checkRuntime((call), #call, __FILE__, __LINE__)
#define MPM_BLAS_CHECK(call) ::mpm::cuda::checkBlas((call), #call, __FILE__, __LINE__)
