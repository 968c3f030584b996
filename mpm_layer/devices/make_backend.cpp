#include "mpm_layer/encoder/backend.hpp"

#include "mpm_layer/cpu/cpu_backend.hpp"
#include "mpm_layer/cuda/loader/cuda_backend.hpp"

namespace mpm {
namespace {

// Returns the backend for Device::Auto: GPU `index` if it is usable, else the CPU.
std::shared_ptr<const Backend> bestBackend(int index) {
    try {
        return cudaBackend(index);
    } catch (const cv::Exception&) {
        return cpuBackend();
    }
}

}  // namespace

std::shared_ptr<const Backend> makeBackend(Device device, int index) {
    switch (device) {
        case Device::Cpu:
            return cpuBackend();
        case Device::Cuda:
            return cudaBackend(index);
        case Device::Auto:
            return bestBackend(index);
    }
    CV_Error(cv::Error::StsBadArg, "mpm: device must be Cpu, Cuda or Auto");
}

}  // namespace mpm
