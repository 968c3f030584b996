#include "mpm_layer/cuda/device/check.hpp"

namespace mpm::cuda {
namespace {

std::string place(const char* operation, const char* file, int line) {
    const std::string path = file;
    const size_t slash = path.rfind('/');
    return std::string(operation) + " (" + (slash == std::string::npos ? path : path.substr(slash + 1)) +
           ":" + std::to_string(line) + ")";
}

}  // namespace

void checkRuntime(cudaError_t status, const char* operation, const char* file, int line) {
    if (status == cudaSuccess) return;
    // An error that does not stick must not come up again at the next launch.
    cudaGetLastError();
    throw CudaFailure(place(operation, file, line) + ": " + cudaGetErrorString(status),
                      status == cudaErrorMemoryAllocation);
}

void checkBlas(cublasStatus_t status, const char* operation, const char* file, int line) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw CudaFailure(place(operation, file, line) + ": " + cublasLtGetStatusString(status),
                      status == CUBLAS_STATUS_ALLOC_FAILED);
}

}  // namespace mpm::cuda
