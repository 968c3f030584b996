#include "pipeline/segment/names.hpp"

#include <utility>

namespace mpm::pipeline {

namespace {

const std::pair<const char*, mpm::Precision> kPrecisions[] = {
    {"f32", mpm::Precision::F32},           {"tf32", mpm::Precision::TF32}, {"bf16", mpm::Precision::BF16},
    {"f16", mpm::Precision::F16},           {"i8", mpm::Precision::I8},     {"auto", mpm::Precision::Auto},
    {"auto-fast", mpm::Precision::AutoFast}};

}  // namespace

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
    for (const auto& [name, value] : kPrecisions)
        if (value == precision) return name;
    return "?";
}

std::optional<mpm::Precision> precisionFrom(const std::string& name) {
    for (const auto& [known, value] : kPrecisions)
        if (name == known) return value;
    return std::nullopt;
}

}  // namespace mpm::pipeline
