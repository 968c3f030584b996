// Machine, library and model of a measurement: the head of the report.
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

}  // namespace mpm::pipeline
