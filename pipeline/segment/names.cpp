#include "pipeline/segment/names.hpp"

#include <mpm/precisions.hpp>

namespace mpm::pipeline {

std::string deviceName(mpm::Device device) {
    switch (device) {
        case mpm::Device::Cpu:
            return "cpu";
        case mpm::Device::Cuda:
            return "cuda";
        case mpm::Device::Auto:
            return "auto";
    }
    return "?";
}

std::string precisionName(mpm::Precision precision) {
    for (const mpm::PrecisionInfo& known : mpm::precisions())
        if (known.precision == precision) return known.name;
    return "?";
}

std::optional<mpm::Precision> precisionFrom(const std::string& name) {
    for (const mpm::PrecisionInfo& known : mpm::precisions())
        if (known.name == name) return known.precision;
    return std::nullopt;
}

}  // namespace mpm::pipeline
