// numpy's .npy files: little-endian f32 and i64 in C order, which is all the fixtures hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::test {

struct Npy {
    std::vector<int> shape;
    std::vector<float> floats;      ///< of an f32 array
    std::vector<int64_t> integers;  ///< of an i64 array

    cv::Mat mat() const;  ///< CV_32F of the array's shape; integers as CV_32S
};

Npy readNpy(const std::string& path);
void writeNpy(const std::string& path, const Npy& array);
bool fileExists(const std::string& path);

}  // namespace mpm::test
