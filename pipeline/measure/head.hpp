// The head of a report: machine, library and model of a measurement.
#pragma once

#include <string>

#include "pipeline/segment/network.hpp"

namespace mpm::pipeline {

struct MeasureHead {
    std::string mpm, opencv, cpu, cpuFeatures;
    int threads = 0;
    std::string model;
    cv::Size size;
};

MeasureHead headOf(const Network& network);

std::string cpuName();      ///< "AMD EPYC 9R14 (2 threads)"
std::string cpuFeatures();  ///< the instruction sets that matter to the kernels

}  // namespace mpm::pipeline
