#include "mpm_layer/encoder/backend.hpp"

#include "mpm_layer/cpu/cpu_backend.hpp"

namespace mpm {

std::shared_ptr<const Backend> makeBackend(Device device, int index) {
    switch (device) {
        case Device::Cpu:
        case Device::Auto:
            return cpuBackend();
        case Device::Cuda:
            break;
    }
    CV_Error(
        cv::Error::StsNotImplemented,
        cv::format("mpm: device cuda:%d was asked for, but this build has no CUDA library; use cpu or auto",
                   index));
}

}  // namespace mpm
