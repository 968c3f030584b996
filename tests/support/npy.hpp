// Reads and writes numpy's .npy files. Supports only what fixtures need: little-endian f32 and i64 in C
// order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::test {

struct Npy {
    std::vector<int> shape;
    std::vector<float> floats;      ///< the elements of an f32 array
    std::vector<int64_t> integers;  ///< the elements of an i64 array

    cv::Mat mat() const;  ///< has the array's shape; floats are CV_32F, integers CV_32S
};

Npy readNpy(const std::string& path);
void writeNpy(const std::string& path, const Npy& array);
bool fileExists(const std::string& path);

}  // namespace mpm::test
