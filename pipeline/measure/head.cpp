#include "pipeline/measure/head.hpp"

#include <opencv2/core/utility.hpp>

namespace mpm::pipeline {

MeasureHead headOf(const Network& network) {
    return {mpm::version(),      cv::getVersionString(), cpuName(),          cpuFeatures(),
            cv::getNumThreads(), network.name(),         network.info().size};
}

}  // namespace mpm::pipeline
