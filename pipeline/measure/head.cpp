#include "pipeline/measure/head.hpp"

#include <fstream>

#include <opencv2/core/utility.hpp>

namespace mpm::pipeline {

MeasureHead headOf(const Network& network) {
    return {mpm::version(),      cv::getVersionString(), cpuName(),          cpuFeatures(),
            cv::getNumThreads(), network.name(),         network.info().size};
}

namespace {

std::string fromCpuInfo(const std::string& key) {
    std::ifstream information("/proc/cpuinfo");
    for (std::string line; std::getline(information, line);) {
        const size_t colon = line.find(':');
        if (line.rfind(key, 0) == 0 && colon != std::string::npos && colon + 2 <= line.size())
            return line.substr(colon + 2);
    }
    return {};
}

}  // namespace

std::string cpuName() {
    std::string name = fromCpuInfo("model name");
    if (name.empty()) name = fromCpuInfo("Model");  // boards with Arm processors
    if (name.empty()) name = "unknown";
    return name + " (" + std::to_string(cv::getNumberOfCPUs()) + " threads)";
}

std::string cpuFeatures() {
    std::string flags = " " + fromCpuInfo("flags") + fromCpuInfo("Features") + " ", found;
    for (const char* name : {"sse4_2", "avx2", "fma", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16",
                             "amx_tile", "amx_bf16", "amx_int8", "asimd", "asimddp", "bf16", "i8mm", "sve"})
        if (flags.find(" " + std::string(name) + " ") != std::string::npos)
            found += (found.empty() ? "" : " ") + std::string(name);
    return found.empty() ? "unknown" : found;
}

}  // namespace mpm::pipeline
