// Reproducible data for tests.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <opencv2/core.hpp>

namespace mpm::test {

/// Returns tokens like those of an image: neighbours are similar, with noise. Therefore, a large part of the
/// tokens form pairs, and the number of pairs varies with the seed.
inline cv::Mat randomTokens(int rows, int columns, unsigned seed, double noise = 1.0) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    cv::Mat tokens(rows, columns, CV_32F);
    std::vector<float> drift(columns);
    for (float& v : drift)
        v = normal(random);
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) {
            drift[c] = 0.9f * drift[c] + 0.4f * normal(random);
            tokens.at<float>(r, c) = drift[c] + static_cast<float>(noise) * 0.3f * normal(random);
        }
    }
    return tokens;
}

/// Returns a random matrix. OpenCV's generator takes a tenth of the time of std::normal_distribution, which
/// matters for the weights of a ViT-B.
inline cv::Mat randomMatrix(int rows, int columns, unsigned seed, double deviation = 1.0) {
    cv::RNG random((seed + 1) * 0x9E3779B97F4A7C15u);
    cv::Mat m(rows, columns, CV_32F);
    if (!m.empty()) random.fill(m, cv::RNG::NORMAL, 0.0, deviation);  // OpenCV 4.10 rejects an empty matrix
    return m;
}

/// Returns whether both matrices have the same shape, type and bits.
inline bool sameBits(const cv::Mat& a, const cv::Mat& b) {
    if (a.dims != b.dims || a.type() != b.type() || a.total() != b.total()) return false;
    for (int i = 0; i < a.dims; ++i) {
        if (a.size[i] != b.size[i]) return false;
    }
    const cv::Mat ca = a.isContinuous() ? a : a.clone(), cb = b.isContinuous() ? b : b.clone();
    return ca.total() == 0 || std::memcmp(ca.data, cb.data, ca.total() * ca.elemSize()) == 0;
}

/// Returns the largest difference, relative to the largest value of `expected`.
inline double relativeError(const cv::Mat& actual, const cv::Mat& expected) {
    const cv::Mat a = actual.reshape(1, 1), e = expected.reshape(1, 1);
    const double largest = cv::norm(e, cv::NORM_INF);
    return cv::norm(a, e, cv::NORM_INF) / (largest > 0 ? largest : 1.0);
}

}  // namespace mpm::test
