#include "pipeline/segment/names.hpp"

#include <mpm/precisions.hpp>

namespace mpm::pipeline {

std::string deviceName(mpm::Device device) {
    constexpr const char* kNames[] = {"cpu", "cuda", "auto"};
    return kNames[static_cast<int>(device)];
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
