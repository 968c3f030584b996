#include "street/street.hpp"

#include <algorithm>
#include <vector>

#include "base/checked.hpp"
#include "base/random.hpp"

namespace mpm::street {
namespace {

/// The cumulative sum of a Poisson distribution. draw() inverts the sum: a draw needs only a random number
/// and a short search.
struct PoissonTable {
    int first = 0;  ///< number of events at cumulative[0]
    std::vector<double> cumulative;

    explicit PoissonTable(double mean) {
        const double reach = 8.0 * std::sqrt(mean) + 12.0;
        first = static_cast<int>(std::fmax(0.0, std::floor(mean - reach)));
        double sum = 0;
        for (int k = first; k <= mean + reach; ++k) {
            const double logMass =
                mean > 0 ? k * std::log(mean) - mean - std::lgamma(k + 1.0) : (k ? -1e9 : 0.0);
            cumulative.push_back(sum += std::exp(logMass));
        }
    }

    int draw(double uniform) const {
        const double wanted = uniform * cumulative.back();
        const auto found = std::lower_bound(cumulative.begin(), cumulative.end(), wanted);
        return first + static_cast<int>(std::min(found, cumulative.end() - 1) - cumulative.begin());
    }
};

void check(const cv::Mat& image, const NightParameters& parameters) {
    CV_CheckEQ(image.depth(), CV_8U, "night: image must have 8-bit values");
    CV_CheckGE(parameters.luminance, 0.0, "night: luminance must not be negative");
    CV_CheckGT(parameters.photons, 0.0, "night: photons must be above 0");
    CV_CheckLE(parameters.luminance * parameters.photons, 1e7, "night: at most 1e7 photons can be expected");
    CV_CheckGE(parameters.deviation, 0.0, "night: deviation must not be negative");
}

}  // namespace

cv::Mat night(const cv::Mat& image, const NightParameters& parameters, uint64_t seed) {
    check(image, parameters);
    std::vector<PoissonTable> photons;  // a table for each of the 256 pixel values
    for (int value = 0; value < 256; ++value) {
        photons.emplace_back(parameters.luminance * value / 255.0 * parameters.photons);
    }
    cv::Mat noisy(image.size(), image.type());
    Random random(seed);
    const auto width = checkedProduct<int>(image.cols, image.channels());
    for (int y = 0; y < image.rows; ++y) {
        const uchar* in = image.ptr<uchar>(y);
        uchar* out = noisy.ptr<uchar>(y);
        for (int x = 0; x < width; ++x) {
            double value = photons[in[x]].draw(random.uniform()) / parameters.photons;
            if (parameters.deviation > 0) value += parameters.deviation * random.normal();
            out[x] = cv::saturate_cast<uchar>(value * 255.0);
        }
    }
    return noisy;
}

}  // namespace mpm::street
