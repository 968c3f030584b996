#include "mpm_layer/cuda/device/check.hpp"

namespace mpm::cuda {
namespace {

std::string place(const char* operation, const char* file, int line) {
    const std::string path = file;
    const size_t slash = path.rfind('/');
    return std::string(operation) + " (" + (slash == std::string::npos ? path : path.substr(slash + 1)) +
           ":" + std::to_string(line) + ")";
}

void checkStatus(cudaError_t status, const std::string& operation) {
    if (status == cudaSuccess) return;
    // Clears the runtime's last error, so that the next launch does not report it again.
    cudaGetLastError();
    throw CudaFailure(operation + ": " + cudaGetErrorString(status), status == cudaErrorMemoryAllocation);
}

}  // namespace

void checkRuntime(cudaError_t status, const char* operation, const char* file, int line) {
    if (status != cudaSuccess) checkStatus(status, place(operation, file, line));
}

void checkLaunch(cudaError_t status, const char* kernel) {
    checkStatus(status, std::string("launch of ") + kernel);
}

void checkBlas(cublasStatus_t status, const char* operation, const char* file, int line) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw CudaFailure(place(operation, file, line) + ": " + cublasLtGetStatusString(status),
                      status == CUBLAS_STATUS_ALLOC_FAILED);
}

}  // namespace mpm::cuda
